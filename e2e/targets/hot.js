// Work in the main thread, in a worker thread, and in children by fork, spawn and exec.
const { Worker, isMainThread, workerData } = require('worker_threads');
const { fork, spawnSync, execSync } = require('child_process');

function burnInScript(ms) {
  const end = process.cpuUsage().user + ms * 1000;
  let n = 0;
  while (process.cpuUsage().user < end) for (let i = 0; i < 10000; i++) n = (n * 31 + i) | 0;
  return n;
}

if (!isMainThread) {
  burnInScript(workerData);
} else if (process.argv[2] === 'child') {
  burnInScript(200);
  process.send('from the child', () => process.exit(5));
} else {
  burnInScript(300);
  const worker = new Worker(__filename, { workerData: 200 });
  worker.on('exit', (code) => {
    console.log('worker', code);
    const child = fork(__filename, ['child']);
    child.on('message', (message) => console.log(message));
    child.on('exit', (code) => {
      console.log('child', code);
      const shell = spawnSync('sh', ['-c', 'echo "$A $LD_PRELOAD"; exit 3'], { env: { A: '1' } });
      console.log(shell.status, shell.stdout.toString());
      console.log(execSync('cat', { input: 'through a pipe' }).toString());
      process.on('SIGUSR2', () => { console.log('signal'); process.exit(4); });
      process.on('SIGURG', () => {});
      setTimeout(() => {}, 100000);
      process.kill(process.pid, 'SIGUSR2');
    });
  });
}
