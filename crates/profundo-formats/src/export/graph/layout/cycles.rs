//! Cycles are broken by turning edges. A deep walk from the entries turns those that lead back to a
//! function which is still open. It takes heavy edges first, so that these keep their direction. A
//! broad walk turns those that lead back to a function which was met before, and are in a cycle.

use super::Link;

/// An edge from a rank to one further down.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Downward {
    /// The row of the link.
    pub link: usize,
    pub upper: u32,
    pub lower: u32,
    /// Whether the link leads from the lower to the upper.
    pub is_turned: bool,
    pub weight: f64,
}

impl Downward {
    /// The number of ranks between its ends.
    pub(super) fn bends(&self, ranks: &[u32]) -> usize {
        (ranks[self.lower as usize] - ranks[self.upper as usize]) as usize - 1
    }
}

/// The way to look for cycles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Walk {
    /// Turns few edges.
    Deep,
    /// Gives few ranks.
    Broad,
}

/// All edges but self edges, directed so that they have no cycle.
pub(super) fn without_cycles(nodes: usize, links: &[Link], walk: Walk) -> Vec<Downward> {
    let mut out: Vec<Vec<usize>> = vec![Vec::new(); nodes];
    let mut callers = vec![0_u32; nodes];
    for (row, link) in links.iter().enumerate() {
        if link.from != link.to {
            out[link.from as usize].push(row);
            callers[link.to as usize] += 1;
        }
    }
    for rows in &mut out {
        rows.sort_by(|&a, &b| links[b].weight.total_cmp(&links[a].weight));
    }
    // Entries first; what is left is only reached through a cycle.
    let entries = (0..nodes).filter(|&node| callers[node] == 0);
    let starts: Vec<usize> = entries.chain(0..nodes).collect();
    let is_turned = match walk {
        Walk::Deep => turned_deep(&starts, &out, links),
        Walk::Broad => turned_broad(&starts, &out, links),
    };
    let rows = links.iter().enumerate();
    let rows = rows.filter(|(_, link)| link.from != link.to);
    rows.map(|(row, link)| {
        let (upper, lower) = match is_turned[row] {
            true => (link.to, link.from),
            false => (link.from, link.to),
        };
        Downward {
            link: row,
            upper,
            lower,
            is_turned: is_turned[row],
            weight: link.weight,
        }
    })
    .collect()
}

/// By link, whether it leads back to a node that is open in a deep walk.
fn turned_deep(starts: &[usize], out: &[Vec<usize>], links: &[Link]) -> Vec<bool> {
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        New,
        Open,
        Done,
    }
    let mut states = vec![State::New; out.len()];
    let mut is_turned = vec![false; links.len()];
    let mut open: Vec<(usize, usize)> = Vec::new();
    for &start in starts {
        if states[start] != State::New {
            continue;
        }
        states[start] = State::Open;
        open.push((start, 0));
        while let Some((node, next)) = open.last_mut() {
            let Some(&row) = out[*node].get(*next) else {
                states[*node] = State::Done;
                open.pop();
                continue;
            };
            *next += 1;
            let to = links[row].to as usize;
            match states[to] {
                State::New => {
                    states[to] = State::Open;
                    open.push((to, 0));
                }
                State::Open => is_turned[row] = true,
                State::Done => {}
            }
        }
    }
    is_turned
}

/// By link, whether it leads back to a node that a broad walk met before. What leads to a node from
/// which there is no way back is not turned.
fn turned_broad(starts: &[usize], out: &[Vec<usize>], links: &[Link]) -> Vec<bool> {
    let mut order = vec![usize::MAX; out.len()];
    let mut queue: Vec<usize> = Vec::with_capacity(out.len());
    let meet = |node: usize, queue: &mut Vec<usize>, order: &mut Vec<usize>| {
        if order[node] == usize::MAX {
            order[node] = queue.len();
            queue.push(node);
        }
    };
    let mut next = 0;
    let entries = starts.len() - out.len();
    for &entry in &starts[..entries] {
        meet(entry, &mut queue, &mut order);
    }
    for &start in &starts[entries..] {
        while next < queue.len() {
            for &row in &out[queue[next]] {
                meet(links[row].to as usize, &mut queue, &mut order);
            }
            next += 1;
        }
        meet(start, &mut queue, &mut order);
    }
    let components = components(out, links);
    (links.iter())
        .map(|link| {
            let (from, to) = (link.from as usize, link.to as usize);
            components[from] == components[to] && order[to] < order[from]
        })
        .collect()
}

/// The strongly connected component of each node, after Tarjan.
fn components(out: &[Vec<usize>], links: &[Link]) -> Vec<usize> {
    const NONE: usize = usize::MAX;
    let nodes = out.len();
    let (mut index, mut low) = (vec![NONE; nodes], vec![0; nodes]);
    let mut component = vec![NONE; nodes];
    let (mut path, mut open) = (Vec::new(), Vec::<(usize, usize)>::new());
    let mut met = 0;
    for start in 0..nodes {
        if index[start] != NONE {
            continue;
        }
        open.push((start, 0));
        while let Some(&mut (node, ref mut next)) = open.last_mut() {
            if *next == 0 && index[node] == NONE {
                (index[node], low[node]) = (met, met);
                met += 1;
                path.push(node);
            }
            if let Some(&row) = out[node].get(*next) {
                *next += 1;
                let to = links[row].to as usize;
                if index[to] == NONE {
                    open.push((to, 0));
                } else if component[to] == NONE {
                    low[node] = low[node].min(index[to]);
                }
                continue;
            }
            open.pop();
            if let Some(&(caller, _)) = open.last() {
                low[caller] = low[caller].min(low[node]);
            }
            if low[node] == index[node] {
                while let Some(member) = path.pop() {
                    component[member] = node;
                    if member == node {
                        break;
                    }
                }
            }
        }
    }
    component
}
