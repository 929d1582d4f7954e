//! Answers that took long, kept for the next time that their question comes.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::Answer;
use crate::library::lock;
use crate::{Error, Question};

/// Answers that were found faster are not kept.
const LONG: Duration = Duration::from_millis(30);

/// The most bytes of all kept answers.
const MOST: usize = 16 << 20;

/// The kept answers to questions about the recordings in one state, the last one at the end.
#[derive(Debug, Default)]
pub(crate) struct Given {
    kept: Mutex<(u64, Vec<(Question, Answer)>)>,
}

impl Given {
    /// A kept answer, or the one that `find` finds. `version` is the state of the recordings.
    pub(super) fn answer(
        &self,
        question: &Question,
        version: impl Fn() -> u64,
        find: impl FnOnce() -> Result<Answer, Error>,
    ) -> Result<Answer, Error> {
        let before = version();
        {
            let (state, kept) = &mut *lock(&self.kept);
            if *state != before {
                (*state, *kept) = (before, Vec::new());
            }
            if let Some(place) = kept.iter().position(|(known, _)| known == question) {
                let used = kept.remove(place);
                let answer = used.1.clone();
                kept.push(used);
                return Ok(answer);
            }
        }
        let began = Instant::now();
        let answer = find()?;
        // A file that was replaced meanwhile may have given half of the answer.
        if began.elapsed() >= LONG && answer.bytes.len() <= MOST / 4 && version() == before {
            let (state, kept) = &mut *lock(&self.kept);
            if *state == before {
                kept.push((question.clone(), answer.clone()));
                let mut bytes: usize = kept.iter().map(|(_, answer)| answer.bytes.len()).sum();
                while bytes > MOST {
                    bytes -= kept.remove(0).1.bytes.len();
                }
            }
        }
        Ok(answer)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn slow(bytes: usize) -> Result<Answer, Error> {
        std::thread::sleep(LONG);
        Ok(Answer::of_json(vec![b' '; bytes]))
    }

    #[test]
    fn a_question_is_worked_out_once_for_each_state_of_the_files() {
        let given = Given::default();
        let question = Question::new("flame");
        let (version, found) = (Cell::new(1), Cell::new(0));
        let ask = |question: &Question| {
            let answer = given.answer(
                question,
                || version.get(),
                || {
                    found.set(found.get() + 1);
                    slow(10)
                },
            );
            assert_eq!(answer.unwrap().bytes.len(), 10);
        };
        ask(&question);
        ask(&question);
        assert_eq!(found.get(), 1);
        ask(&question.clone().with("shape", "inverted"));
        assert_eq!(found.get(), 2);
        version.set(2);
        ask(&question);
        assert_eq!(found.get(), 3);
    }

    #[test]
    fn the_oldest_answers_make_room() {
        let given = Given::default();
        let found = Cell::new(0);
        for number in [0, 1, 2, 3, 4, 0] {
            let question = Question::new("flame").with("number", number);
            let find = || {
                found.set(found.get() + 1);
                slow(MOST / 4)
            };
            given.answer(&question, || 1, find).unwrap();
        }
        assert_eq!(found.get(), 6);
        let question = Question::new("flame").with("number", 4);
        let kept = given.answer(&question, || 1, || Err(Error::Unknown("flame".into())));
        assert_eq!(kept.unwrap().bytes.len(), MOST / 4);
    }
}
