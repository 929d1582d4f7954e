//! A small made-up fleet in a store: three services on four hosts, two hours long. One version of
//! one service is slower than the one before. The pages of the documentation show it.
//!
//! ```text
//! cargo run -p profundo-store --example shop -- DIR 2026-11-28T10:00
//! ```

mod made;

use std::error::Error;

use profundo_store::{Folder, Query};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, end] = &arguments[..] else {
        return Err("DIR and the end of the time, such as 2026-11-28T10:00".into());
    };
    let end = Query::parse(&format!("f?from=2026-01-01&to={end}"), 0)?;
    made::shop(&Folder::new(folder), end.to)?;
    Ok(())
}
