//! Placing stacks, then adding up.
//!
//! Placing is memoised by stack. Adding up is two passes: without recursion a node's count is that
//! of the samples that ended at it or below, one sweep from the last node to the first; with
//! flattened recursion a stack may visit nodes that its end is not below, so each distinct stack is
//! walked once more.

use profundo_model::{LocationId, Profile, StackId};
use rustc_hash::{FxBuildHasher, FxHashMap};

use super::{Node, NodeId, Recur, Tree, TreeOptions};
use crate::place::places;
use crate::shares::FunctionNumbers;
use crate::shown::Sieve;
use crate::{Place, Selection, StackWeight};

pub(super) fn build(profile: &Profile, selection: &Selection, options: &TreeOptions) -> Tree {
    let stacks = selection.stacks(profile);
    let mut builder = Builder::new(profile, options, stacks.len());
    for stack in stacks {
        let end = builder.place(stack.stack);
        let is_called = stack.calls > 0 && builder.is_end(stack.stack, end);
        let is_folded = End(builder.ends[stack.stack.index()]).is_folded();
        let node = &mut builder.nodes[end.index()];
        node.overhead = node.overhead.saturating_add(stack.count);
        node.flat_count = node.flat_count.saturating_add(stack.count);
        node.own_weight = node.own_weight.saturating_add(stack.weight);
        node.weight = node.weight.saturating_add(stack.weight);
        if is_folded {
            node.folded_weight = node.folded_weight.saturating_add(stack.weight);
        }
        node.sleeping &= stack.asleep == stack.count;
        if is_called {
            node.calls = node.calls.saturating_add(stack.calls);
        }
    }
    builder.sum_up();
    if options.recur == Recur::Off {
        for node in &mut builder.nodes {
            node.count = node.flat_count;
            node.max_recur = 1;
        }
    } else {
        builder.count_visits(stacks);
    }
    builder.finish()
}

struct Builder<'a> {
    profile: &'a Profile,
    options: &'a TreeOptions,
    sieve: Sieve<'a>,
    /// The functions, where their lines are one node.
    functions: Option<FunctionNumbers>,
    nodes: Vec<Node>,
    /// The child of a node (upper half) for a key (lower half).
    child: FxHashMap<u64, NodeId>,
    /// The end of each stack, as the word of an [`End`]; zeroes, so that the system hands out the
    /// memory as it is touched, and a small group does not pay for the stacks of others.
    ends: Vec<u32>,
    pending: Vec<StackId>,
    /// The places of the present location.
    shown: Vec<Place>,
    /// By node, whether it is of a library, where libraries are folded.
    in_library: Vec<bool>,
    /// By node, its key among its siblings.
    keys: Vec<u32>,
}

/// The longest cycle of functions that is recognised as recursion.
const LONGEST_CYCLE: usize = 8;

/// The end of a stack, in one word: the node plus one, so that 0 stands for "not placed yet", in
/// the highest bit whether the stack's last location went back to an earlier call of itself, and in
/// the next one whether the stack ends in a function that is folded into the node.
#[derive(Clone, Copy)]
struct End(u32);

impl End {
    const BACK: u32 = 1 << 31;
    const FOLDED: u32 = 1 << 30;
    const NODE: u32 = Self::FOLDED - 1;

    fn new(node: NodeId, flags: u32) -> Self {
        assert!(node.0 < Self::NODE, "a tree has fewer than 2^30 nodes");
        Self((node.0 + 1) | flags)
    }

    fn node(self) -> Option<NodeId> {
        (self.0 & Self::NODE).checked_sub(1).map(NodeId)
    }

    fn went_back(self) -> bool {
        self.0 & Self::BACK != 0
    }

    fn is_folded(self) -> bool {
        self.0 & Self::FOLDED != 0
    }
}

impl<'a> Builder<'a> {
    /// `stacks` is the number of distinct stacks to come: there will be about as many nodes.
    fn new(profile: &'a Profile, options: &'a TreeOptions, stacks: usize) -> Self {
        let mut nodes = Vec::with_capacity(stacks + 1);
        nodes.push(Node::new(Place::Unknown, None, NodeId(0), 0));
        Self {
            profile,
            options,
            sieve: Sieve::new(profile, options.shown),
            functions: options.by_function.then(|| FunctionNumbers::new(profile)),
            nodes,
            child: FxHashMap::with_capacity_and_hasher(stacks, FxBuildHasher),
            ends: vec![0; profile.stacks.len()],
            pending: Vec::new(),
            shown: Vec::new(),
            in_library: vec![false],
            keys: vec![u32::MAX],
        }
    }

    /// The node where `stack` ends.
    fn place(&mut self, stack: StackId) -> NodeId {
        let mut pending = std::mem::take(&mut self.pending);
        let mut end = End::new(NodeId(0), 0);
        let mut next = Some(stack);
        while let Some(id) = next {
            let known = End(self.ends[id.index()]);
            if known.node().is_some() {
                end = known;
                break;
            }
            pending.push(id);
            next = self.profile.stacks.get(id).parent;
        }
        while let Some(id) = pending.pop() {
            end = self.place_below(end, id);
            self.ends[id.index()] = end.0;
        }
        self.pending = pending;
        end.node().unwrap_or(NodeId(0))
    }

    /// Whether a stack that was placed at `node` ends in the node's function, and not in a hidden
    /// one.
    fn is_end(&self, stack: StackId, node: NodeId) -> bool {
        let location = self.profile.stacks.get(stack).location;
        let innermost = self.sieve.places(location).next_back();
        innermost == Some(self.nodes[node.index()].place)
    }

    /// Places a stack whose caller's stack ended at `caller`.
    fn place_below(&mut self, caller: End, id: StackId) -> End {
        let location = self.profile.stacks.get(id).location;
        if let Some(earlier) = self.earlier_call(id, location) {
            return End::new(earlier, End::BACK);
        }
        let mut node = caller.node().unwrap_or(NodeId(0));
        // A hidden place belongs to its caller, folded or not.
        let mut is_folded = caller.is_folded();
        let mut shown = std::mem::take(&mut self.shown);
        shown.extend(self.sieve.places(location));
        for place in shown.drain(..) {
            node = self.child(node, place, location);
            is_folded = !self.stands_for(node, place);
        }
        self.shown = shown;
        End::new(node, if is_folded { End::FOLDED } else { 0 })
    }

    /// Whether a place is of the function that a node shows.
    fn stands_for(&self, node: NodeId, place: Place) -> bool {
        let shown = self.nodes[node.index()].place;
        match &self.functions {
            _ if !self.sieve.folds() => true,
            Some(functions) => {
                functions.of(self.profile, shown) == functions.of(self.profile, place)
            }
            None => shown == place,
        }
    }

    /// The end of the nearest earlier call of `location`, where recursion is flattened.
    fn earlier_call(&self, id: StackId, location: LocationId) -> Option<NodeId> {
        match self.options.recur {
            Recur::Off => return None,
            Recur::Flat => {
                let innermost = places(self.profile, location).next_back();
                if innermost.is_none_or(|place| place.is_c(self.profile)) {
                    return None;
                }
            }
            Recur::FlatC => {}
        }
        let mut caller = self.profile.stacks.get(id).parent;
        while let Some(earlier) = caller {
            let stack = self.profile.stacks.get(earlier);
            if stack.location == location {
                return End(self.ends[earlier.index()]).node();
            }
            caller = stack.parent;
        }
        None
    }

    fn child(&mut self, parent: NodeId, place: Place, location: LocationId) -> NodeId {
        let in_library = self.sieve.is_library(place, location);
        if in_library && self.sieve.folds() && self.in_library[parent.index()] {
            return parent;
        }
        let combine = self.options.combine;
        let key = match &self.functions {
            _ if !combine => location.0,
            Some(functions) => functions.of(self.profile, place),
            None => place.key(),
        };
        let edge = (u64::from(parent.0) << 32) | u64::from(key);
        if let Some(&child) = self.child.get(&edge) {
            return child;
        }
        let child = self.repeated(parent, key).unwrap_or_else(|| {
            let id = NodeId(u32::try_from(self.nodes.len()).expect("fewer than 2^32 nodes"));
            let level = self.nodes[parent.index()].level + 1;
            self.nodes.push(Node::new(
                place,
                (!combine).then_some(location),
                parent,
                level,
            ));
            self.in_library.push(in_library);
            self.keys.push(key);
            id
        });
        self.child.insert(edge, child);
        child
    }

    /// The node of the earlier call, if a call of `key` by `caller` ends a sequence of calls that
    /// directly follows itself: `a a`, or `a b a b`.
    fn repeated(&self, caller: NodeId, key: u32) -> Option<NodeId> {
        // Where recursion is flattened, stacks go back already, and a node has to be below its
        // caller's.
        if !self.options.fold_recursion || self.options.recur != Recur::Off {
            return None;
        }
        // The callee, and its callers from here on.
        let mut chain = [key; 2 * LONGEST_CYCLE];
        let mut nodes = [caller; 2 * LONGEST_CYCLE];
        let mut length = 1;
        let mut node = caller;
        while length < chain.len() && node != NodeId(0) {
            (chain[length], nodes[length]) = (self.keys[node.index()], node);
            length += 1;
            node = self.nodes[node.index()].parent;
        }
        let longest = length / 2;
        let is_repeated = |&cycle: &usize| chain[..cycle] == chain[cycle..2 * cycle];
        (1..=longest).find(is_repeated).map(|cycle| nodes[cycle])
    }

    /// Adds each node's samples to its caller's, the last node first.
    fn sum_up(&mut self) {
        for index in (1..self.nodes.len()).rev() {
            let Node {
                parent,
                flat_count,
                sleeping,
                weight,
                ..
            } = self.nodes[index];
            let parent = &mut self.nodes[parent.index()];
            parent.flat_count = parent.flat_count.saturating_add(flat_count);
            parent.weight = parent.weight.saturating_add(weight);
            parent.sleeping &= sleeping;
        }
    }

    /// Counts each stack once at every node that it visits.
    fn count_visits(&mut self, stacks: &[StackWeight]) {
        let root = NodeId(0);
        // For each node, the last stack that visited it, and its number of visits.
        let mut visits = vec![(0_u32, 0_u32); self.nodes.len()];
        for (stamp, stack) in (1..).zip(stacks) {
            let mut visit = |node: &mut Node, id: NodeId| {
                let (last, times) = &mut visits[id.index()];
                if *last == stamp {
                    *times += 1;
                    node.count_recur = node.count_recur.saturating_add(stack.count);
                } else {
                    (*last, *times) = (stamp, 1);
                    node.count = node.count.saturating_add(stack.count);
                    node.sleeping &= stack.asleep == stack.count;
                }
                node.max_recur = node.max_recur.max(*times);
            };
            visit(&mut self.nodes[0], root);
            let mut next = Some(stack.stack);
            while let Some(id) = next {
                let row = self.profile.stacks.get(id);
                next = row.parent;
                let end = End(self.ends[id.index()]);
                let mut node = end
                    .node()
                    .expect("every caller of a placed stack is placed");
                if end.went_back() {
                    // A hidden call goes back, too, but visits nothing.
                    if self.sieve.places(row.location).next().is_some() {
                        visit(&mut self.nodes[node.index()], node);
                    }
                    continue;
                }
                let caller = next.and_then(|caller| End(self.ends[caller.index()]).node());
                let caller = caller.unwrap_or(root);
                while node != caller {
                    let row = &mut self.nodes[node.index()];
                    visit(row, node);
                    node = row.parent;
                }
            }
        }
    }

    /// Lists the children of each node, in the order of first appearance.
    fn finish(self) -> Tree {
        let mut nodes = self.nodes;
        for index in 1..nodes.len() {
            let parent = nodes[index].parent;
            nodes[parent.index()].children.1 += 1;
        }
        let mut start = 0;
        for node in &mut nodes {
            let length = node.children.1;
            // Both ends stand at the start; the second one moves as children are listed.
            node.children = (start, start);
            start += length;
        }
        let mut children = vec![NodeId(0); nodes.len() - 1];
        for (id, index) in (1..).map(NodeId).zip(1..nodes.len()) {
            let parent = nodes[index].parent;
            let end = &mut nodes[parent.index()].children.1;
            children[*end as usize] = id;
            *end += 1;
        }
        Tree { nodes, children }
    }
}

impl Node {
    fn new(place: Place, location: Option<LocationId>, parent: NodeId, level: u32) -> Self {
        Self {
            place,
            location,
            parent,
            level,
            count: 0,
            overhead: 0,
            flat_count: 0,
            sleeping: true,
            max_recur: 0,
            count_recur: 0,
            weight: 0,
            own_weight: 0,
            folded_weight: 0,
            calls: 0,
            children: (0, 0),
        }
    }
}
