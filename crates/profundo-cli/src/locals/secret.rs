//! Names and texts that look like secrets, which are never shown.

/// The words that make a secret of a name that has one of them, wherever it stands in it.
const WORDS: [&str; 20] = [
    "password",
    "passwd",
    "passphrase",
    "pwd",
    "secret",
    "token",
    "apikey",
    "accesskey",
    "privatekey",
    "signingkey",
    "encryptionkey",
    "credential",
    "authorization",
    "bearer",
    "cookie",
    "sessionid",
    "sessionkey",
    "csrf",
    "jwt",
    "otp",
];
/// The names that are secrets as they are.
const NAMES: [&str; 4] = ["auth", "pin", "salt", "pass"];

/// Whether what has this name looks like a secret. `API-Key`, `api_key` and `apiKey` are the same.
pub fn is_secret_name(name: &str) -> bool {
    let name = plain(name);
    NAMES.contains(&&*name) || WORDS.iter().any(|word| name.contains(word))
}

/// Whether a text has a secret in it: a word as above, or a password in an address.
pub fn has_secret(text: &str) -> bool {
    is_secret_name(text) || has_password(text)
}

/// `scheme://user:password@host`.
fn has_password(text: &str) -> bool {
    let mut rest = text;
    while let Some((_, address)) = rest.split_once("://") {
        let host = address.split(['/', '?', '#', ' ']).next();
        let user = host.and_then(|host| host.rsplit_once('@'));
        if user.is_some_and(|(user, _)| user.contains(':')) {
            return true;
        }
        // The end of a text that is cut may be missing.
        let is_cut = !address.contains(['/', '?', '#', ' ', '@']);
        if is_cut && address.contains(':') && !has_port(address) {
            return true;
        }
        rest = address;
    }
    false
}

/// Whether a colon is followed by digits alone.
fn has_port(address: &str) -> bool {
    let port = address.rsplit(':').next().unwrap_or_default();
    port.chars().all(|character| character.is_ascii_digit())
}

/// Letters and digits alone, in lower case.
fn plain(name: &str) -> String {
    let letters = name.chars().filter(|character| character.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets() {
        for name in [
            "password",
            "DB_PASSWORD",
            "Authorization",
            "X-Api-Key",
            "apiKey",
            "private_key",
            "cookies",
            "auth",
            "user_token",
            "PASSWD",
        ] {
            assert!(is_secret_name(name), "{name}");
        }
        for name in [
            "author", "order", "total", "pinned", "passes", "key", "compass",
        ] {
            assert!(!is_secret_name(name), "{name}");
        }
    }

    #[test]
    fn texts_with_secrets() {
        for text in [
            "GET / HTTP/1.1\r\nAuthorization: Basic YWJj",
            "postgres://app:hunter2@db/shop",
            "redis://:hunter2@10.0.0.7:6379/0",
            "user=a&password=b",
            "postgres://app:hunter",
        ] {
            assert!(has_secret(text), "{text}");
        }
        for text in [
            "http://localhost:8080/a@b:c",
            "http://localhost:8080",
            "hello: world@home",
            "https://example.org/x",
        ] {
            assert!(!has_secret(text), "{text}");
        }
    }
}
