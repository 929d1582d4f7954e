//! Servers under load. The output of their clients is reduced to whether all requests were
//! answered.

use super::entry::Entry;
use super::shape::Shape;

const MODES: &[&str] = &["", "--memory", "--wall", "--engine cpu-timer"];

pub fn entries() -> Vec<Entry> {
    vec![postgres(), nginx(), redis(), gunicorn()]
}

/// Each backend blocks SIGURG and reads it by a signalfd.
fn postgres() -> Entry {
    Entry::new(
        "postgresql",
        r#"
S=$(mktemp -d /tmp/field-pg.XXXXXX)
trap 'rm -rf $S' EXIT
$P $(cat $HERE/bin)/postgres -D $HERE/data -k $S -c listen_addresses= >$HERE/server 2>&1 &
until_true pg_isready -h $S -q
pgbench -h $S -i -q postgres >/dev/null 2>&1; echo "filled: $?"
pgbench -h $S -c 4 -T 5 postgres | grep -c "number of failed transactions: 0 "
kill -INT $(head -1 $HERE/data/postmaster.pid)
wait $!; echo "ended: $?"
"#,
    )
    .needs(&["pgbench", "pg_isready"])
    .prepare(
        "B=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -1)
         [ -n \"$B\" ] || B=$(dirname $(readlink -f $(command -v postgres)))
         echo $B >bin
         $B/initdb -D data -A trust >log",
    )
    .modes(MODES)
    .unprivileged()
    .shape(Shape::Hot("PostgresMain", 30.0))
}

fn nginx() -> Entry {
    Entry::new(
        "nginx",
        r#"
$P nginx -p $HERE/ -c nginx.conf -e error.log &
until_true curl --unix-socket $HERE/s http://h/index.html
for i in 1 2 3 4; do
    curl -s --unix-socket $HERE/s "http://h/index.html?[1-2000]" | cksum
done
kill -QUIT $(cat $HERE/pid)
wait $!; echo "ended: $?"
"#,
    )
    .needs(&["nginx", "curl"])
    .prepare(
        "seq 1000 >index.html
         cat >nginx.conf <<E
daemon off; pid $HERE/pid; worker_processes 2; error_log error.log;
events { worker_connections 64; }
http { access_log off; gzip on; server { listen unix:$HERE/s; root $HERE; } }
E",
    )
    .modes(MODES)
    .shape(Shape::Seconds(0.01))
}

fn redis() -> Entry {
    Entry::new(
        "redis",
        r#"
$P redis-server --port 0 --unixsocket $HERE/s --save '' --daemonize no >$HERE/server 2>&1 &
until_true redis-cli -s $HERE/s ping
redis-benchmark -s $HERE/s -q -n 50000 -t set,get,lpush,lrange_100 | tr '\r' '\n' | grep -c 'requests per second'
redis-cli -s $HERE/s dbsize
redis-cli -s $HERE/s shutdown nosave
wait $!; echo "ended: $?"
"#,
    )
    .needs(&["redis-server", "redis-benchmark"])
    .modes(MODES)
    .shape(Shape::Seconds(0.1))
}

fn gunicorn() -> Entry {
    Entry::new(
        "gunicorn",
        r#"
$P $HERE/venv/bin/gunicorn -w 2 --chdir $HERE -b unix:$HERE/s -p $HERE/pid app:app >$HERE/server 2>&1 &
until_true curl --unix-socket $HERE/s http://h/
curl -s --unix-socket $HERE/s "http://h/?[1-300]" | cksum
kill -TERM $(cat $HERE/pid)
wait $!; echo "ended: $?"
"#,
    )
    .needs(&["python3", "curl"])
    .prepare(
        "python3 -m venv venv
         venv/bin/pip install -q gunicorn
         cat >app.py <<'E'
def work(n):
    return sum(i * i for i in range(n))
def app(environ, start):
    start('200 OK', [('Content-Type', 'text/plain')])
    return [b'%d\\n' % work(20000)]
E",
    )
    .modes(MODES)
    .shape(Shape::Hot("work", 20.0))
}
