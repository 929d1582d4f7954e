//! The stacks below a row of the table, drawn as a tree:
//!
//! ```text
//!             |
//!             ---leaf
//!                |--55.56%--main
//!                |          _start
//!                 --7.94%--recurse
//!                           main
//! ```
//!
//! Names below each other are a chain. Branches begin under the chain that they belong to, and
//! their own names stand eleven columns further right. With `-g folded` each stack is a line.

use std::rc::Rc;

/// A chain of names, and the share of the stacks that go through it.
#[derive(Debug, Default)]
struct Chain {
    parent: Option<usize>,
    column: usize,
    names: Vec<Rc<str>>,
    share: f64,
    has_branches: bool,
}

/// A tree.
#[derive(Debug, Default)]
pub(super) struct Tree {
    chains: Vec<Chain>,
    /// The chains from the root to the last one.
    open: Vec<usize>,
    /// The stacks of `-g folded`.
    folded: Vec<Stack>,
    /// Whether numbers are of samples or events (`-g count`), not shares.
    has_counts: bool,
}

/// A stack, in the order in which it is drawn.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Stack {
    pub names: Vec<Rc<str>>,
    /// The share, in any unit.
    pub share: f64,
    /// Whether there are stacks that go on, too small to be drawn.
    pub is_cut: bool,
}

/// The columns between a branch and its names.
const STEP: usize = 11;

/// The most chains within each other, and the most names of a stack.
const DEEPEST: usize = 1024;

impl Tree {
    /// Takes in a line below a row whose share is `whole`.
    pub(super) fn add(&mut self, line: &str, whole: f64) {
        let drawn = line.trim_start_matches([' ', '|']);
        let column = line.len() - drawn.len();
        let name = drawn.trim_end();
        if name.is_empty() {
            return;
        }
        if column == 0 {
            return self.add_folded(name);
        }
        if let Some(name) = name.strip_prefix("---") {
            self.open.clear();
            return self.open_chain(None, column + 3, name.trim_start(), whole);
        }
        if let Some((share, name)) = branch(name) {
            self.has_counts |= !drawn.split("--").nth(1).unwrap_or_default().ends_with('%');
            // The line that leads to it is one column to the left.
            let at = column - 1;
            self.close(at);
            let parent = self.open.last().copied();
            if let Some(parent) = parent {
                self.chains[parent].has_branches = true;
            }
            if self.open.len() < DEEPEST {
                self.open_chain(parent, at + STEP, name, share);
            }
            return;
        }
        self.close(column);
        if let Some(&last) = self.open.last() {
            let chain = &mut self.chains[last];
            if chain.names.len() < DEEPEST {
                chain.names.push(name.into());
            }
        }
    }

    fn close(&mut self, column: usize) {
        let is_right = |chain: &Chain| chain.column > column;
        while (self.open.last()).is_some_and(|&last| is_right(&self.chains[last])) {
            self.open.pop();
        }
    }

    fn open_chain(&mut self, parent: Option<usize>, column: usize, name: &str, share: f64) {
        self.open.push(self.chains.len());
        self.chains.push(Chain {
            parent,
            column,
            names: vec![name.into()],
            share,
            has_branches: false,
        });
    }

    /// `55.56% leaf;main`.
    fn add_folded(&mut self, line: &str) {
        if let Some((share, names)) = line.split_once(' ')
            && let Some(number) = number(share)
        {
            self.has_counts |= !share.ends_with('%');
            self.folded.push(Stack {
                names: names.split(';').take(DEEPEST).map(Rc::from).collect(),
                share: number,
                is_cut: false,
            });
        }
    }

    /// The stacks. `whole` is the share of the row, `room` the number of names that they may have.
    pub(super) fn stacks(mut self, whole: f64, room: &mut usize) -> Vec<Stack> {
        let mut stacks = std::mem::take(&mut self.folded);
        match self.has_counts {
            true => self.give_trunks_counts(),
            false => self.make_absolute(whole),
        }
        let mut left: Vec<f64> = self.chains.iter().map(|chain| chain.share).collect();
        for chain in &self.chains {
            if let Some(parent) = chain.parent {
                left[parent] -= chain.share;
            }
        }
        for (index, chain) in self.chains.iter().enumerate() {
            // Shares have two digits.
            const SMALL: f64 = 0.03;
            if chain.has_branches && left[index] <= SMALL * whole.max(1.0) / 100.0 + SMALL {
                continue;
            }
            stacks.push(Stack {
                names: self.names(index, room),
                share: left[index].max(0.0),
                is_cut: chain.has_branches,
            });
        }
        if self.has_counts {
            let all: f64 = stacks.iter().map(|stack| stack.share).sum();
            for stack in &mut stacks {
                stack.share *= whole / all.max(1.0);
            }
        }
        stacks
    }

    /// The trunk is drawn without a number: that of its branches.
    fn give_trunks_counts(&mut self) {
        let mut sums = vec![0.0; self.chains.len()];
        for chain in &self.chains {
            if let Some(parent) = chain.parent {
                sums[parent] += chain.share;
            }
        }
        for (chain, sum) in self.chains.iter_mut().zip(sums) {
            if chain.parent.is_none() && sum > 0.0 {
                chain.share = sum;
            }
        }
    }

    /// Shares of the chain before (`-g fractal`) become shares of all.
    fn make_absolute(&mut self, whole: f64) {
        let mut sums = vec![0.0; self.chains.len()];
        let mut top = 0.0;
        for chain in &self.chains {
            match chain.parent {
                Some(parent) => sums[parent] += chain.share,
                None => top += chain.share,
            }
        }
        let is_more = |sum: f64, share: f64| sum > share * 1.02 + 0.1;
        let mut chains = self.chains.iter().zip(&sums);
        let is_relative =
            is_more(top, whole) || chains.any(|(chain, &sum)| is_more(sum, chain.share));
        if !is_relative {
            return;
        }
        for index in 0..self.chains.len() {
            let before = match self.chains[index].parent {
                Some(parent) => self.chains[parent].share,
                None if self.chains[index].share >= whole && top <= whole => continue,
                None => whole,
            };
            self.chains[index].share *= before / 100.0;
        }
    }

    /// The names from the first chain to the end of this one.
    fn names(&self, index: usize, room: &mut usize) -> Vec<Rc<str>> {
        let chain = |index: usize| self.chains.get(index);
        let path = std::iter::successors(chain(index), |it| chain(it.parent?));
        let mut path: Vec<&Chain> = path.collect();
        path.reverse();
        let names = path.iter().flat_map(|chain| chain.names.iter().cloned());
        let names: Vec<Rc<str>> = names.take(DEEPEST.min(*room).max(1)).collect();
        *room = room.saturating_sub(names.len());
        names
    }
}

/// `--55.56%--name`, or a number of samples in place of the share.
fn branch(text: &str) -> Option<(f64, &str)> {
    let (share, name) = text.strip_prefix("--")?.split_once("--")?;
    Some((number(share)?, name.trim_start()))
}

fn number(text: &str) -> Option<f64> {
    let digits = text.strip_suffix('%').unwrap_or(text);
    let number: f64 = digits.parse().ok()?;
    (number.is_finite() && number >= 0.0).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stacks(text: &str, whole: f64) -> Vec<String> {
        let mut tree = Tree::default();
        for line in text.lines() {
            tree.add(line, whole);
        }
        let stacks = tree.stacks(whole, &mut 100).into_iter();
        let shown =
            stacks.map(|it| format!("{} {:.2} {}", it.names.join(";"), it.share, it.is_cut));
        shown.collect()
    }

    #[test]
    fn branches_begin_under_their_chain() {
        let text = "            |\n            ---leaf\n               |          \n\
                    \x20              |--55.56%--main\n               |          _start\n\
                    \x20              |          |          \n\
                    \x20              |          |--50.00%--a\n               |           --5.56%--b\n\
                    \x20              |                     c\n\
                    \x20               --7.93%--recurse\n                          main\n";
        let expected = [
            "leaf;main;_start;a 50.00 false",
            "leaf;main;_start;b;c 5.56 false",
            "leaf;recurse;main 7.93 false",
        ];
        assert_eq!(stacks(text, 63.49), expected);
        let rest = stacks(text, 70.0);
        assert_eq!(rest[0], "leaf 6.51 true");
    }

    #[test]
    fn shares_may_be_of_the_chain_before() {
        let text =
            "            ---leaf\n               |--87.50%--main\n                --12.50%--r\n";
        let expected = ["leaf;main 55.55 false", "leaf;r 7.94 false"];
        assert_eq!(stacks(text, 63.49), expected);
    }

    #[test]
    fn branches_may_have_counts() {
        let text = "            ---leaf\n               |--30--main\n                --10--r\n";
        let expected = ["leaf;main 45.00 false", "leaf;r 15.00 false"];
        assert_eq!(stacks(text, 60.0), expected);
    }

    #[test]
    fn stacks_may_be_lines_or_have_no_trunk() {
        assert_eq!(
            stacks("55.56% leaf;main\n", 60.0),
            ["leaf;main 55.56 false"]
        );
        let text = "            |--30.00%--a\n            |          b\n             --10.00%--c\n";
        assert_eq!(stacks(text, 40.0), ["a;b 30.00 false", "c 10.00 false"]);
        assert!(stacks("   |\n stray\n--%--x\n---", 1.0).len() <= 1);
    }
}
