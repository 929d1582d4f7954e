//! Servers and pools whose workers exist before the profiler attaches: they must go on undisturbed,
//! and the children's work must be in the recording. Attaching to a server ends once its answers
//! have arrived, however slow the machine is.

use super::entry::{Entry, without_numbers};
use super::shape::Shape;

pub fn entries() -> Vec<Entry> {
    let mut entries = vec![
        served(
            "attach-uvicorn",
            "$HERE/venv/bin/uvicorn --workers 3 --log-level critical --app-dir $HERE --uds $HERE/s app:aapp",
            "",
        ),
        served(
            "attach-gunicorn-gthread",
            "$HERE/venv/bin/gunicorn -k gthread --threads 3 -w 2 --chdir $HERE -b unix:$HERE/s app:app",
            "",
        ),
        served(
            "attach-gunicorn-preload",
            "$HERE/venv/bin/gunicorn --preload -w 2 --chdir $HERE -b unix:$HERE/s app:app",
            "kill -HUP $M",
        ),
        served(
            "attach-gunicorn-max-requests",
            "$HERE/venv/bin/gunicorn -w 2 --max-requests 40 --chdir $HERE -b unix:$HERE/s app:app",
            "kill -KILL $(pgrep -P $M | head -1)",
        )
        // The client of a killed worker gets no answer.
        .even(without_numbers),
        nginx(),
        pipeline(),
        forks(
            "attach-node",
            "node",
            "master.js",
            "const c = require('cluster');
if (c.isPrimary) { for (let i = 0; i < 2; i++) c.fork(); console.log('begun'); }
else { function hot(n) { let s = 0; for (let i = 0; i < n; i++) s += i % 7; return s; } setInterval(() => hot(1e7), 20); }",
            Shape::Note("--perf-basic-prof"),
        ),
        forks(
            "attach-ruby",
            "ruby",
            "master.rb",
            "def hot(n); s = 0; n.times { |i| s += i % 7 }; s; end
2.times { fork { loop { hot(100000) } } }
puts 'begun'; $stdout.flush
Process.waitall",
            Shape::Hot("ruby_run_node", 80.0),
        ),
    ];
    for kind in ["fork", "spawn", "forkserver"] {
        entries.push(pool(kind));
    }
    entries
}

/// A server of `app.py`, which serves requests while attached; `meanwhile` restarts some of its
/// workers.
fn served(name: &str, server: &str, meanwhile: &str) -> Entry {
    let ask = match meanwhile.contains("KILL") {
        true => r#"curl -s --unix-socket $HERE/s "http://h/?[1-300]" >/dev/null"#,
        false => r#"curl -s --unix-socket $HERE/s "http://h/?[1-300]" | cksum"#,
    };
    let script = format!(
        r#"
{server} >$HERE/server 2>&1 & M=$!
until_true curl --unix-socket $HERE/s http://h/
$P $M >$HERE/report & A=$!
sleep 1
{ask}
{meanwhile}
{ask}
kill -TERM $A 2>/dev/null
wait $A; echo "attached: $?"
kill -TERM $M
wait $M; echo "ended: $?"
"#
    );
    Entry::new(name, script)
        .attaches()
        .needs(&["python3", "curl", "pgrep"])
        .prepare(
            "python3 -m venv venv
             venv/bin/pip install -q gunicorn uvicorn
             cat >app.py <<'E'
def work(n):
    return sum(i * i for i in range(n))
def app(environ, start):
    start('200 OK', [('Content-Type', 'text/plain')])
    return [b'%d\\n' % work(20000)]
async def aapp(scope, receive, send):
    if scope['type'] == 'http':
        await send({'type': 'http.response.start', 'status': 200, 'headers': []})
        await send({'type': 'http.response.body', 'body': b'%d\\n' % work(20000)})
E",
        )
        .modes(&["", "--wall"])
        .shape(Shape::Seconds(0.1))
        // With waits the idle workers and the master have most of the time, more so if other
        // processes have the CPUs.
        .shape(Shape::Hot("work", 0.5))
        .shape(Shape::NoNote("symbols were removed"))
}

fn nginx() -> Entry {
    Entry::new(
        "attach-nginx",
        r#"
nginx -p $HERE/ -c nginx.conf -e error.log & M=$!
until_true curl --unix-socket $HERE/s http://h/index.html
$P $M >$HERE/report & A=$!
sleep 1
for i in 1 2 3 4; do
    curl -s -H 'Accept-Encoding: gzip' --unix-socket $HERE/s "http://h/index.html?[1-1000]" | cksum
    [ $i = 2 ] && kill -HUP $M
done
kill -TERM $A 2>/dev/null
wait $A; echo "attached: $?"
kill -QUIT $M
wait $M; echo "ended: $?"
"#,
    )
    .attaches()
    .needs(&["nginx", "curl"])
    .prepare(
        "seq 1000 >index.html
         cat >nginx.conf <<E
daemon off; pid $HERE/pid; worker_processes 2; error_log error.log;
events { worker_connections 64; }
http { access_log off; gzip on; gzip_types *; server { listen unix:$HERE/s; root $HERE; } }
E",
    )
    .shape(Shape::Hot("ngx_http_core_run_phases", 30.0))
}

fn pipeline() -> Entry {
    Entry::new(
        "attach-pipeline",
        r#"
sh -c 'yes abcdefg | tr a b | head -c 300000000 | sed s/c/d/ | cksum' & M=$!
$P $M -d 3 >$HERE/report; echo "attached: $?"
wait $M; echo "ended: $?"
"#,
    )
    .attaches()
    .shape(Shape::Hot("sed+", 30.0))
}

fn pool(kind: &str) -> Entry {
    let script = format!(
        r#"
python3 $HERE/pool.py {kind} & M=$!
until_true test -e begun
$P $M -d 3 >$HERE/report; echo "attached: $?"
touch enough
wait $M; echo "ended: $?"
"#
    );
    Entry::new(format!("attach-pool-{kind}"), script)
        .attaches()
        .needs(&["python3"])
        .prepare(
            "cat >pool.py <<'E'
import multiprocessing, os, sys
def work(n):
    s = 0
    for i in range(200000):
        s += i * n
    return s
if __name__ == '__main__':
    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
        pool.map(work, range(4), 1)
        open('begun', 'w').close()
        while not os.path.exists('enough'):
            pool.map(work, range(20), 1)
    print('done')
E",
        )
        .modes(&["", "--wall"])
        // With waits the master's threads have most of the time.
        .shape(Shape::Hot("work", 8.0))
}

/// An interpreter that has forked two busy children.
fn forks(name: &str, interpreter: &str, file: &str, program: &str, shape: Shape) -> Entry {
    let script = format!(
        r#"
{interpreter} $HERE/{file} >begun & M=$!
until_true grep -q begun begun
$P $M -d 2 >$HERE/report; echo "attached: $?"
C=$(pgrep -P $M)
kill -KILL $C $M
wait $M 2>/dev/null; echo "ended: $?"
"#
    );
    Entry::new(name, script)
        .attaches()
        .even(without_numbers)
        .needs(&[interpreter, "pgrep"])
        .prepare(format!("cat >{file} <<'E'\n{program}\nE"))
        .shape(shape)
}
