#include <caliper/cali.h>
#include <pthread.h>
#include <math.h>
static volatile double sink;
static void spin(int n){double s=0;for(int i=0;i<n*1000;i++)s+=sin(i);sink=s;}
static void assemble(int n){CALI_MARK_FUNCTION_BEGIN;spin(n);CALI_MARK_FUNCTION_END;}
static void solve(int n){CALI_MARK_FUNCTION_BEGIN;CALI_MARK_LOOP_BEGIN(it,"iterations, inner=a\\b");for(int i=0;i<n;i++){CALI_MARK_ITERATION_BEGIN(it,i);assemble(20+i);spin(10);CALI_MARK_ITERATION_END(it);}CALI_MARK_LOOP_END(it);if(n>2)solve(n-2);CALI_MARK_FUNCTION_END;}
static void* worker(void*a){cali_begin_region("worker");assemble(50);cali_end_region("worker");return a;}
int main(){CALI_MARK_FUNCTION_BEGIN;pthread_t t;pthread_create(&t,0,worker,0);solve(5);CALI_MARK_BEGIN("output");spin(40);CALI_MARK_END("output");pthread_join(t,0);CALI_MARK_FUNCTION_END;return 0;}
