//! Answers about a selection that several reports begin with.

use std::sync::{Arc, Mutex, PoisonError};

/// The answers to the last questions, by the question.
#[derive(Debug, Clone)]
pub(crate) struct Remembered<K, V>(Arc<Mutex<Known<K, V>>>);

type Known<K, V> = Vec<(K, Arc<V>)>;

/// The number of answers that are remembered. A page asks with two or three sets of options.
const MOST: usize = 3;

impl<K, V> Default for Remembered<K, V> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<K: PartialEq, V> Remembered<K, V> {
    /// The answer to a question, which `find` finds the first time. Two threads may both find it.
    pub(crate) fn get(&self, question: K, find: impl FnOnce() -> V) -> Arc<V> {
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = (lock().iter())
            .find(|(known, _)| *known == question)
            .map(|(_, answer)| Arc::clone(answer));
        known.unwrap_or_else(|| {
            let answer = Arc::new(find());
            let mut kept = lock();
            if kept.len() == MOST {
                kept.remove(0);
            }
            kept.push((question, Arc::clone(&answer)));
            answer
        })
    }
}
