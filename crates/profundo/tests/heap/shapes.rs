//! Heaps with known graphs.

use std::cell::RefCell;
use std::collections::{HashMap, LinkedList};
use std::hint::black_box;
use std::rc::Rc;
use std::sync::mpsc;

use crate::graph::{Graph, Hidden, scrub};
use crate::turn;

#[test]
fn a_vec_of_boxes_refers_to_each_by_its_place() {
    let _turn = turn();
    let boxes: Vec<Box<u64>> = black_box((0..20).map(Box::new).collect());
    let graph = Graph::take();
    let at = Hidden::of(boxes.as_ptr());
    let expected: Vec<_> = (0..)
        .step_by(8)
        .zip(boxes.iter().map(|value| &raw const **value as u64))
        .collect();
    assert_eq!(graph.edges(at), expected);
    let node = graph.at(at);
    assert_eq!((node.kind.as_str(), node.size), ("object", 160));
    assert!(!graph.is_lost(at));
    assert_eq!(node.name, "Vec<Box<u64>>");
    for one in &boxes {
        let node = graph.at(Hidden::of(&raw const **one));
        assert_eq!((node.name.as_str(), node.size), ("Box<u64>", 8));
        assert!(node.edges.is_empty());
    }
    drop(boxes);
}

struct Knot {
    other: RefCell<Option<Rc<Knot>>>,
    held: Box<u64>,
}

/// Two knots that hold each other, and their addresses.
#[inline(never)]
fn knots() -> (Rc<Knot>, [Hidden; 2], [Hidden; 2]) {
    let knot = |number| {
        Rc::new(Knot {
            other: RefCell::new(None),
            held: Box::new(number),
        })
    };
    let (first, second) = (knot(1), knot(2));
    *first.other.borrow_mut() = Some(second.clone());
    *second.other.borrow_mut() = Some(first.clone());
    // Behind the two counts.
    let at = |knot: &Rc<Knot>| Hidden(!(Rc::as_ptr(knot) as u64 - 16));
    let held = [&first, &second].map(|knot| Hidden::of(&raw const *knot.held));
    let both = [at(&first), at(&second)];
    (first, both, held)
}

#[inline(never)]
fn lost_knots() -> ([Hidden; 2], [Hidden; 2]) {
    let (first, both, held) = knots();
    drop(black_box(first));
    (both, held)
}

#[test]
fn a_cycle_of_rcs_is_there_as_long_as_somebody_has_it_and_lost_after() {
    let _turn = turn();
    let (first, both, held) = black_box(knots());
    let graph = Graph::take();
    let addresses = |graph: &Graph, at| -> Vec<u64> {
        let mut all: Vec<_> = graph.edges(at).into_iter().map(|edge| edge.1).collect();
        all.sort_unstable();
        all
    };
    let sorted = |mut all: [u64; 2]| {
        all.sort_unstable();
        all.to_vec()
    };
    for (own, other) in [(0, 1), (1, 0)] {
        assert!(!graph.is_lost(both[own]) && !graph.is_lost(held[own]));
        let expected = sorted([both[other].address(), held[own].address()]);
        assert_eq!(addresses(&graph, both[own]), expected);
        assert_eq!(graph.at(both[own]).name, "Rc<heap::shapes::Knot>");
    }
    drop((first, graph));
    // A few stale words may hold some of them.
    let lost: Vec<_> = (0..50).map(|_| lost_knots()).collect();
    scrub();
    let graph = Graph::take();
    let mut count = 0;
    for (both, held) in lost {
        assert!([both, held].iter().flatten().all(|&value| graph.has(value)));
        if [both, held]
            .iter()
            .flatten()
            .any(|&value| !graph.is_lost(value))
        {
            continue;
        }
        count += 1;
        let heads = both.iter().filter(|&&it| graph.is_head(it)).count();
        assert_eq!(heads, 1, "one of a ring is enough");
        assert!(!held.iter().any(|&value| graph.is_head(value)));
    }
    assert!(count >= 10, "{count} are lost");
}

#[test]
fn a_map_refers_to_what_it_has() {
    let _turn = turn();
    let map: HashMap<u32, Box<u64>> = black_box((0..100).map(|at| (at, Box::new(0))).collect());
    let graph = Graph::take();
    let tables = graph.nodes.iter().filter(|node| {
        let to = node.edges.iter().map(|(_, to)| graph.nodes[*to].id);
        let to: std::collections::HashSet<u64> = to.collect();
        map.values()
            .all(|value| to.contains(&(&raw const **value as u64)))
    });
    let names: Vec<_> = tables.map(|node| node.name.as_str()).collect();
    assert_eq!(names, ["HashMap<u32, Box<u64>>"]);
    drop(map);
}

#[test]
fn a_list_is_a_chain_in_both_directions() {
    let _turn = turn();
    let list: LinkedList<u64> = black_box((0..50).collect());
    let graph = Graph::take();
    let nodes: Vec<u64> = {
        // An element is inside its node, which may start before it.
        let inside = list.iter().map(|value| &raw const *value as u64);
        let begin = |at: u64| {
            let found = graph
                .nodes
                .iter()
                .find(|node| (node.id..node.id + node.size).contains(&at));
            found.expect("it is in a block").id
        };
        inside.map(begin).collect()
    };
    for (index, &node) in nodes.iter().enumerate() {
        let mut to: Vec<u64> = graph
            .edges(Hidden(!node))
            .into_iter()
            .map(|edge| edge.1)
            .collect();
        let neighbours = [index.checked_sub(1), Some(index + 1)];
        let neighbours = neighbours.into_iter().flatten();
        let mut expected: Vec<u64> = neighbours.filter_map(|at| nodes.get(at).copied()).collect();
        to.sort_unstable();
        expected.sort_unstable();
        assert_eq!(to, expected, "node {index}");
    }
    drop(list);
}

#[inline(never)]
fn leak() -> Vec<Hidden> {
    let leaked = (0..100).map(|number| {
        let inner = Box::new(number);
        let inner_at = Hidden::of(&raw const *inner);
        let outer = Box::leak(Box::new((inner, 7_u64)));
        [Hidden::of(&raw const *outer), inner_at]
    });
    leaked.flatten().collect()
}

#[test]
fn what_was_leaked_is_lost_with_all_that_it_held() {
    let _turn = turn();
    let kept: &'static u64 = Box::leak(Box::new(5));
    let leaked = leak();
    scrub();
    let graph = Graph::take();
    let lost = leaked.iter().filter(|&&it| graph.is_lost(it)).count();
    // Some may still be in a stale word of the stack.
    assert!(lost >= leaked.len() / 2, "{lost} of {}", leaked.len());
    for pair in leaked.chunks(2).filter(|pair| graph.is_lost(pair[0])) {
        assert!(graph.is_head(pair[0]) && !graph.is_head(pair[1]));
        assert_eq!(graph.edges(pair[0]), [(0, pair[1].address())]);
    }
    assert!(!graph.is_lost(Hidden::of(black_box(kept))));
}

#[test]
fn what_only_another_threads_stack_holds_is_held_by_that_thread() {
    let _turn = turn();
    let (stop, stopped) = mpsc::channel::<()>();
    let (sender, receiver) = mpsc::channel();
    let thread = std::thread::Builder::new()
        .name("holder".into())
        .spawn(move || {
            let held = black_box([Box::new(1_u64), Box::new(2)]);
            sender.send(Hidden::of(&raw const *held[1])).unwrap();
            let _ = stopped.recv();
            assert_eq!(*black_box(&held)[1], 2);
        });
    let held = receiver.recv().unwrap();
    // Until the thread waits.
    std::thread::sleep(std::time::Duration::from_millis(20));
    scrub();
    let graph = Graph::take();
    let roots = graph.roots_of(held);
    assert!(
        roots.iter().any(|(root, _)| root.contains("(holder)")),
        "{roots:?}"
    );
    assert_eq!(graph.at(held).name, "Box<u64>");
    stop.send(()).unwrap();
    thread.unwrap().join().unwrap();
}

/// Takes a snapshot, and returns whether the block at this address is unreachable.
#[cfg(target_arch = "x86_64")]
extern "C" fn is_lost(hidden: u64) -> u64 {
    scrub();
    Graph::take().is_lost(Hidden(hidden)).into()
}

#[inline(never)]
fn leak_one() -> Hidden {
    Hidden::of(Box::leak(Box::new(3_u64)))
}

#[cfg(target_arch = "x86_64")]
#[test]
fn what_only_a_register_of_the_caller_holds_is_not_lost() {
    let _turn = turn();
    // The word is computed from the hidden one in the register, and is nowhere else.
    let ask = |hidden: Hidden, turned: u64| {
        let answer: u64;
        // SAFETY: the registers are put back before the end, the stack is aligned for the call, and
        // clobbers are declared.
        unsafe {
            std::arch::asm!(
                "push rbx",
                "push r12",
                "mov r12, rsp",
                "and rsp, -16",
                "mov rbx, rdi",
                "xor rbx, {turned}",
                "call {is_lost}",
                "mov rsp, r12",
                "pop r12",
                "pop rbx",
                turned = in(reg) turned,
                is_lost = sym is_lost,
                in("rdi") hidden.0,
                lateout("rax") answer,
                clobber_abi("C"),
            );
        }
        answer == 1
    };
    // Some of them may still be in stale words.
    let mut all: Vec<Hidden> = (0..50).map(|_| leak_one()).collect();
    scrub();
    let graph = Graph::take();
    all.retain(|&value| graph.is_lost(value));
    assert!(all.len() >= 10, "{}", all.len());
    // The graph has the addresses.
    drop(graph);
    let some = all.iter().take(2);
    let lost: Vec<Hidden> = some.copied().filter(|&value| ask(value, 0)).collect();
    assert!(!lost.is_empty());
    assert!(lost.iter().all(|&value| !ask(value, u64::MAX)));
}
