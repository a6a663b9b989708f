/* A header of the system: no finding stands here. */
#pragma GCC system_header

template <class T, class V> void
store_behind(T *pointer, V value)
{
    pointer->first = value;
}

template <class T, class V> void
store_deeper(T *pointer, V value)
{
    store_behind(pointer, value);
}
