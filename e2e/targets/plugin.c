/* A library for dlopen.c. */
#include "burn.h"
__attribute__((constructor)) static void begin(void) { spin(1000, 1); }
__attribute__((destructor)) static void end(void) { spin(1000, 1); }
BURNS(burn_in_plugin)
int plugin(double s) { burn_in_plugin(s); return 3; }
