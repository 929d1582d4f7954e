#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
volatile double sink;
__attribute__((noinline)) void hot(long n){ double x=1; for(long i=0;i<n;i++) x=x*1.0000001+0.1; sink=x; }
__attribute__((noinline)) void cold(long n){ double x=1; for(long i=0;i<n;i++) x=x*1.0000001+0.1; sink=x; }
__attribute__((noinline)) void outer(long n){ hot(3*n); cold(n); }
static void *work(void *p){ for(int i=0;i<40;i++) outer(200000); return 0; }
int main(int argc,char**argv){
  if(argc>1 && !strcmp(argv[1],"mem")){ char *keep=0; for(int i=0;i<1000;i++){ char*p=malloc(1000); if(i%10) free(p); else { *(char**)p=keep; keep=p; } } void*big=calloc(1,1<<20); sink=(long)big+(long)keep; work(0); puts("done"); return 0; }
  if(argc>1 && !strcmp(argv[1],"long")) for(int i=0;i<9;i++) work(0);
  pthread_t t; pthread_create(&t,0,work,0); work(0); pthread_join(t,0);
  if(fork()==0){ work(0); exit(3);} int st; wait(&st); printf("child %d\n",WEXITSTATUS(st)); return 7; }
