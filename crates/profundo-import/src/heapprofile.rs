//! The `.heapprofile` of node (`--heap-prof`) and of Chrome's developer tools: a tree of functions
//! with the bytes that each allocated itself. V8 samples allocations, scales them, and leaves out
//! objects that the collector took before the end.

use profundo_model::{Amount, Domain, SampleKind, Sampling, Site};

use crate::encoding::json::{Json, Read, member, members};
use crate::reader::{Reader, Table};
use crate::v8::{Nodes, read_tree};
use crate::{Builder, Error, Source};

pub(crate) const READER: Reader = Reader(&Table {
    name: "heapprofile",
    writers: "node --heap-prof, Chrome's developer tools",
    is_start,
    fill,
});

fn is_start(start: &[u8]) -> bool {
    let members = members(start);
    member(&members, "head").is_some_and(|head| {
        let head = self::members(head);
        member(&head, "selfSize").is_some() && member(&head, "callFrame").is_some()
    })
}

fn fill(source: &Source<'_>, builder: &mut Builder) -> Result<(), Error> {
    builder.weighs(SampleKind::Events, "");
    let mut nodes = Nodes::default();
    // The samples of each node.
    let mut samples = rustc_hash::FxHashMap::<u64, u64>::default();
    let mut read = || -> Read<()> {
        Json::new(source.bytes).object(|json, key| match key {
            "head" => read_tree(&mut nodes, json, builder),
            "samples" => json.array(|json| {
                json.object(|json, key| {
                    match key {
                        "nodeId" => {
                            if let Some(id) = json.whole()? {
                                *samples.entry(id as u64).or_default() += 1;
                            }
                        }
                        _ => json.skip()?,
                    }
                    Ok(())
                })
            }),
            _ => json.skip(),
        })
    };
    if let Err(damage) = read() {
        builder.warn(damage.warning());
    }
    nodes.resolve(builder);
    let process = builder.process(0, "");
    for (row, node) in (0..).zip(&nodes.rows) {
        let Some(stack) = nodes.stack(row).filter(|_| node.self_size > 0) else {
            continue;
        };
        let sites = &mut builder.profile.heap.sites;
        sites.push(Site {
            process,
            stack,
            domain: Domain::Native,
            allocated: Amount {
                count: samples.get(&node.id).copied().unwrap_or(1),
                bytes: node.self_size,
            },
            number: sites.len() as u32,
            ..Site::default()
        });
    }
    builder.profile.heap.sampling = Sampling::All;
    builder.note(
        "a .heapprofile has sampled bytes that were in use at its end: a number of blocks is that \
         of samples, and what was freed before is not in it",
    );
    Ok(())
}
