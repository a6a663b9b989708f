#ifndef HEAPPROF_REPORT_FINDINGS_H
#define HEAPPROF_REPORT_FINDINGS_H
/* Writes rows as findings at lines of source, for a reviewer: of one profile the largest rows, of
 * several the rows that grew by more than their error. A file of the application is named as it is
 * below the application's directory. */
#include "report/table.h"

/* SARIF 2.1.0: findings of the rules memory-growth and memory-in-use. */
report_table_i report_findings_sarif;

/* Commands of a workflow on GitHub: "::warning file=app/cart.rb,line=12,title=...::...". */
report_table_i report_findings_github;

#endif
