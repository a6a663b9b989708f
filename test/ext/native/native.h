#ifndef NATIVE_H
#define NATIVE_H
/* What the C part and the C++ part of the extension share. */
#ifdef __cplusplus
extern "C" {
#endif

extern volatile int native_after;

void native_park(void);
void native_catch(void);  /* parks in a catch block */
void native_unwind(void); /* parks in a destructor, while an exception is on its way */

#ifdef __cplusplus
}
#endif
#endif
