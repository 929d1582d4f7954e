//! Answers about a selection that several reports begin with.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The answers to the last questions, by the question.
#[derive(Debug, Clone)]
pub(crate) struct Remembered<K, V>(Arc<Mutex<Known<K, V>>>);

type Known<K, V> = Vec<(K, Arc<OnceLock<Arc<V>>>)>;

/// The number of answers that are remembered. A page asks with two or three sets of options.
const MOST: usize = 3;

impl<K, V> Default for Remembered<K, V> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<K: PartialEq, V> Remembered<K, V> {
    /// The answer to a question, which `find` finds the first time. A thread that asks meanwhile
    /// waits for it.
    pub(crate) fn get(&self, question: K, find: impl FnOnce() -> V) -> Arc<V> {
        let answer = {
            let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let known = kept.iter().find(|(known, _)| *known == question);
            match known.map(|(_, answer)| Arc::clone(answer)) {
                Some(answer) => answer,
                None => {
                    if kept.len() == MOST {
                        kept.remove(0);
                    }
                    let answer = Arc::default();
                    kept.push((question, Arc::clone(&answer)));
                    answer
                }
            }
        };
        Arc::clone(answer.get_or_init(|| Arc::new(find())))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn threads_that_ask_at_once_wait_for_one_answer() {
        let (remembered, found, together) =
            (Remembered::default(), AtomicUsize::new(0), Barrier::new(4));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    together.wait();
                    let answer = remembered.get("how many", || {
                        std::thread::sleep(std::time::Duration::from_millis(20));
                        found.fetch_add(1, Ordering::Relaxed)
                    });
                    assert_eq!(*answer, 0);
                });
            }
        });
        assert_eq!(found.into_inner(), 1);
    }

    #[test]
    fn the_last_answers_are_kept() {
        let remembered = Remembered::default();
        let ask = |question: usize, answer: usize| *remembered.get(question, || answer);
        assert_eq!(
            [ask(0, 10), ask(1, 11), ask(2, 12), ask(0, 20)],
            [10, 11, 12, 10]
        );
        assert_eq!([ask(3, 13), ask(0, 20), ask(2, 20)], [13, 20, 12]);
    }
}
