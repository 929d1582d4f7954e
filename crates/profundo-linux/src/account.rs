//! A clock of which only the time between pauses counts.

/// The growth of a counter while it was watched.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Account {
    since: Option<u64>,
    sum: u64,
}

impl Account {
    /// Watches from this value on.
    pub fn go(&mut self, value: u64) {
        if self.since.is_none() {
            self.since = Some(value);
        }
    }

    /// Stops watching. This is the last value.
    pub fn stop(&mut self, value: u64) {
        if let Some(since) = self.since.take() {
            self.sum += value.saturating_sub(since);
        }
    }

    /// Whether it was ever watched.
    pub fn has_begun(&self) -> bool {
        self.since.is_some() || self.sum > 0
    }

    /// The growth so far, given the present value.
    pub fn at(mut self, value: u64) -> u64 {
        self.stop(value);
        self.sum
    }
}

#[cfg(test)]
mod tests {
    use super::Account;

    #[test]
    fn pauses_do_not_count() {
        let mut account = Account::default();
        account.stop(5);
        assert!(!account.has_begun());
        account.go(10);
        account.go(12);
        assert_eq!(account.at(15), 5);
        account.stop(20);
        account.go(100);
        assert_eq!(account.at(101), 11);
        assert_eq!(account.at(99), 10);
        account.stop(100);
        assert!(account.has_begun());
    }
}
