//! The page itself: one HTML file without data, which `ui/` builds.

use std::fs::File;
use std::io::Read;

use flate2::read::DeflateDecoder;

use crate::Error;

/// The page, packed by `build.rs`. It has its script and its style inside.
const PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/page.deflate"));

/// What stands in the page for the word that its script and its style are known by.
const NONCE: &str = "@nonce@";
/// What stands in it for the policy.
const POLICY: &str = "@policy@";
/// What stands in it for the answers.
const ANSWERS: &str = "@answers@";

/// The page with a policy, and with answers if it is to be a file.
pub(crate) fn page(nonce: &str, policy: &str, answers: &str) -> String {
    template()
        .replacen(POLICY, policy, 1)
        .replace(NONCE, nonce)
        .replacen(ANSWERS, answers, 1)
}

/// The page without data.
fn template() -> String {
    let mut text = String::new();
    let read = DeflateDecoder::new(PACKED).read_to_string(&mut text);
    read.expect("the build has packed a text");
    text
}

/// What the page may do: run its own script, and ask where it comes from.
pub(crate) fn policy(nonce: &str, asks: bool) -> String {
    let asks = if asks { "'self'" } else { "'none'" };
    format!(
        "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; \
         img-src data: blob:; connect-src {asks}; base-uri 'none'; form-action 'none'"
    )
}

/// Letters and digits that cannot be guessed.
pub(crate) fn random_word() -> Result<String, Error> {
    let mut bytes = [0_u8; 20];
    let mut file = File::open("/dev/urandom").map_err(Error::Random)?;
    file.read_exact(&mut bytes).map_err(Error::Random)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
