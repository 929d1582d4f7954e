//! Python programs with large libraries.

use super::entry::Entry;
use super::shape::Shape;

const VENV: &str = "python3 -m venv venv\nvenv/bin/pip install -q";

pub fn entries() -> Vec<Entry> {
    vec![numpy()]
}

fn numpy() -> Entry {
    Entry::new("numpy", "$P $HERE/venv/bin/python $HERE/matrices.py")
        .needs(&["python3"])
        .prepare(format!(
            "{VENV} numpy
cat >matrices.py <<'E'
import numpy
def multiply():
    a = numpy.ones((400, 400))
    for _ in range(60):
        b = a @ a
    return b
def sort():
    return numpy.sort((numpy.arange(3000000) * 7919) % 1000003)
print(multiply().sum(), sort()[-1])
E"
        ))
        .modes(&["", "--memory", "--memory=exact", "--wall"])
        .shape(Shape::Hot("sort", 1.0))
}
