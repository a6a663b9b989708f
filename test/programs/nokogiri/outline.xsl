<?xml version="1.0" encoding="UTF-8"?>
<!-- A document's headings and code as an outline; words:count is a Ruby method (work.rb). -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
    xmlns:words="urn:words" extension-element-prefixes="words" exclude-result-prefixes="words">
  <xsl:param name="name"/>
  <xsl:output method="xml" indent="yes"/>
  <xsl:template match="/">
    <outline name="{$name}">
      <xsl:apply-templates select="//h1|//h2|//h3|//h4|//pre"/>
    </outline>
  </xsl:template>
  <xsl:template match="h1|h2|h3|h4">
    <heading level="{substring(name(), 2)}" id="{@id}" words="{words:count(string(.))}">
      <xsl:value-of select="normalize-space(.)"/>
    </heading>
  </xsl:template>
  <xsl:template match="pre">
    <code lines="{string-length(.) - string-length(translate(., '&#10;', ''))}">
      <xsl:for-each select=".//span[@class='ruby-constant'][not(. = preceding::span)]">
        <xsl:sort select="."/>
        <constant><xsl:value-of select="."/></constant>
      </xsl:for-each>
    </code>
  </xsl:template>
</xsl:stylesheet>
