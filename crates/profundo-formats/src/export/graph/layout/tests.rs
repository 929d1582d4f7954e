//! Layouts of random graphs, judged by their geometry: each line is followed in small steps.

use super::cycles::{Walk, without_cycles};
use super::ranks::ranks;
use super::{Layout, Link, Point, Rect, Route, Size, Step, layout};

/// Numbers that look random, the same in each run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most.max(1)
    }
}

/// A graph with cycles, recursion and parts that do not hang together.
fn random(nodes: usize, edges: usize, has_labels: bool, seed: u64) -> (Vec<Size>, Vec<Link>) {
    let mut numbers = Numbers(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let sizes: Vec<Size> = (0..nodes)
        .map(|_| Size {
            width: 40.0 + numbers.below(160) as f64,
            height: 24.0 + numbers.below(50) as f64,
        })
        .collect();
    let mut links: Vec<Link> = Vec::new();
    for _ in 0..edges {
        let from = numbers.below(nodes as u64) as u32;
        // Mostly near, as in programs.
        let to = match numbers.below(5) {
            0 => numbers.below(nodes as u64) as u32,
            _ => (from + numbers.below(12) as u32).min(nodes as u32 - 1),
        };
        if links
            .iter()
            .rev()
            .take(2000)
            .any(|link| (link.from, link.to) == (from, to))
        {
            continue;
        }
        let label = (has_labels && numbers.below(4) > 0).then(|| Size {
            width: 30.0 + numbers.below(30) as f64,
            height: 12.0,
        });
        links.push(Link {
            from,
            to,
            weight: 1.0 + numbers.below(100) as f64,
            label,
        });
    }
    (sizes, links)
}

/// Points on a line, near enough to each other to find any box on the way.
fn points(route: &Route) -> Vec<Point> {
    const STEPS: u32 = 40;
    let mut points = vec![route.start];
    let mut from = route.start;
    for step in &route.steps {
        for part in 1..=STEPS {
            let t = f64::from(part) / f64::from(STEPS);
            let s = 1.0 - t;
            let mix = |a: f64, b: f64, c: f64, d: f64| {
                s * s * s * a + 3.0 * s * s * t * b + 3.0 * s * t * t * c + t * t * t * d
            };
            points.push(match *step {
                Step::Line(to) => Point {
                    x: s * from.x + t * to.x,
                    y: s * from.y + t * to.y,
                },
                Step::Curve(a, b, to) => Point {
                    x: mix(from.x, a.x, b.x, to.x),
                    y: mix(from.y, a.y, b.y, to.y),
                },
            });
        }
        from = *points.last().unwrap();
    }
    points.push(route.tip);
    points
}

fn is_inside(point: Point, rect: Rect) -> bool {
    const ROOM: f64 = 1e-6;
    point.x > rect.x + ROOM
        && point.x < rect.right() - ROOM
        && point.y > rect.y + ROOM
        && point.y < rect.bottom() - ROOM
}

fn overlap(a: Rect, b: Rect) -> bool {
    a.x < b.right() && b.x < a.right() && a.y < b.bottom() && b.y < a.bottom()
}

fn check(sizes: &[Size], links: &[Link]) -> Layout {
    let layout = layout(sizes, links);
    assert_eq!(layout.nodes.len(), sizes.len());
    for (row, a) in layout.nodes.iter().enumerate() {
        assert!(a.x >= -1e-6 && a.right() <= layout.size.width + 1e-6);
        assert!(a.y >= -1e-6 && a.bottom() <= layout.size.height + 1e-6);
        for b in &layout.nodes[..row] {
            assert!(!overlap(*a, *b), "{a:?} {b:?}");
        }
    }
    let labels: Vec<Rect> = layout
        .routes
        .iter()
        .filter_map(|route| route.label)
        .collect();
    let wanted = links.iter().filter(|link| link.label.is_some()).count();
    assert_eq!(labels.len(), wanted);
    for (row, label) in labels.iter().enumerate() {
        assert!(!layout.nodes.iter().any(|node| overlap(*node, *label)));
        assert!(!labels[..row].iter().any(|other| overlap(*other, *label)));
    }
    for (route, link) in layout.routes.iter().zip(links) {
        let points = points(route);
        for (node, rect) in layout.nodes.iter().enumerate() {
            let inside = points.iter().find(|point| is_inside(**point, *rect));
            assert_eq!(inside, None, "{link:?} through {node} {rect:?}: {route:?}");
        }
        let (first, last) = (points[0], route.tip);
        let is_at = |point: Point, node: u32| {
            let rect = layout.nodes[node as usize];
            point.x >= rect.x - 1e-6
                && point.x <= rect.right() + 1e-6
                && (point.y - rect.y)
                    .abs()
                    .min((point.y - rect.bottom()).abs())
                    < 9.0
                || link.from == link.to
        };
        let turned = layout.nodes[link.to as usize].y < layout.nodes[link.from as usize].y;
        let other = if turned {
            points[points.len() - 2]
        } else {
            first
        };
        assert!(is_at(last, link.to), "{link:?} {route:?}");
        assert!(is_at(other, link.from), "{link:?} {route:?}");
    }
    layout
}

#[test]
fn no_edge_runs_through_a_node() {
    for seed in 0..60 {
        let nodes = 2 + seed as usize % 40;
        let (sizes, links) = random(nodes, nodes * 2, seed % 2 == 0, seed + 1);
        check(&sizes, &links);
    }
    let (sizes, links) = random(300, 900, true, 7);
    check(&sizes, &links);
}

#[test]
fn small_graphs_are_laid_out() {
    assert_eq!(layout(&[], &[]), Layout::default());
    let size = Size {
        width: 50.0,
        height: 20.0,
    };
    let alone = check(&[size], &[]);
    assert_eq!(alone.size, size);
    let to_itself = Link {
        from: 0,
        to: 0,
        weight: 1.0,
        label: Some(Size {
            width: 30.0,
            height: 10.0,
        }),
    };
    check(&[size], &[to_itself]);
}

#[test]
fn a_chain_is_straight() {
    let size = Size {
        width: 50.0,
        height: 20.0,
    };
    let links = [0, 1, 2].map(|from| Link {
        from,
        to: from + 1,
        weight: 1.0,
        label: None,
    });
    let layout = check(&[size; 4], &links);
    assert!(layout.nodes.iter().all(|node| node.x == 0.0));
    for route in &layout.routes {
        assert!(matches!(route.steps[..], [Step::Line(_)]), "{route:?}");
    }
}

#[test]
fn a_tree_has_no_crossing() {
    let size = Size {
        width: 30.0,
        height: 20.0,
    };
    // The children of node n are 2n + 1 and 2n + 2, named in a mixed order.
    let mut links: Vec<Link> = (1..63)
        .map(|to: u32| Link {
            from: (to - 1) / 2,
            to,
            weight: f64::from(to * 7 % 11),
            label: None,
        })
        .collect();
    links.sort_by_key(|link| link.to * 29 % 61);
    let layout = check(&[size; 63], &links);
    let mut pairs = 0;
    for (a, one) in links.iter().enumerate() {
        for (b, other) in links[..a].iter().enumerate() {
            let x = |node: u32| layout.nodes[node as usize].x;
            let is_beside =
                layout.nodes[one.from as usize].y == layout.nodes[other.from as usize].y;
            let order = (x(one.from) - x(other.from)) * (x(one.to) - x(other.to));
            assert!(!is_beside || order >= 0.0, "{a} {b}");
            pairs += u32::from(is_beside);
        }
    }
    assert!(pairs > 100);
}

/// A graph like that of a program: some tens of levels, most calls to the next one, some to helpers
/// far below, and some back.
fn program(nodes: u32, levels: u32, edges: u32) -> (Vec<Size>, Vec<Link>) {
    let mut numbers = Numbers(99);
    let (sizes, _) = random(nodes as usize, 0, false, 5);
    let each = nodes / levels;
    let links = (0..edges).map(|row| {
        let from = match row < nodes {
            true => row,
            false => numbers.below(u64::from(nodes)) as u32,
        };
        let level = from / each;
        let to_level = match numbers.below(20) {
            0 => numbers.below(u64::from(level) + 1) as u32,
            1..4 => level + 1 + numbers.below(u64::from(levels / 3)) as u32,
            _ => level + 1,
        };
        let to = to_level.min(levels - 1) * each + numbers.below(u64::from(each)) as u32;
        Link {
            from,
            to,
            weight: 1.0 + numbers.below(100) as f64,
            label: None,
        }
    });
    (sizes, links.collect())
}

#[test]
fn a_broad_walk_gives_no_cycle_and_few_ranks() {
    let (sizes, links) = program(400, 20, 1200);
    let edges = without_cycles(sizes.len(), &links, Walk::Broad);
    let ranks = ranks(&sizes, &edges);
    assert!(
        edges
            .iter()
            .all(|edge| ranks[edge.upper as usize] < ranks[edge.lower as usize])
    );
    assert!(*ranks.iter().max().unwrap() < 100);
}

/// A layout without limits of work would take a minute here. It takes a quarter of a second, and
/// the test is generous towards a busy machine.
#[test]
fn five_thousand_functions_are_laid_out_soon() {
    let start = std::time::Instant::now();
    let (sizes, links) = program(5000, 40, 15_000);
    let drawn = |layout: &Layout| {
        let routes = layout.routes.iter();
        routes.filter(|route| !route.steps.is_empty()).count()
    };
    assert_eq!(drawn(&layout(&sizes, &links)), links.len());
    // A chain of thousands of calls, and long edges beside it: not all of these are drawn.
    let (sizes, mut links) = random(5000, 15_000, false, 3);
    for link in &mut links {
        (link.from, link.to) = (link.from.min(link.to), link.from.max(link.to));
    }
    let layout = layout(&sizes, &links);
    let count = drawn(&layout);
    assert!(
        count > links.len() / 2 && count < links.len(),
        "{count} of {}",
        links.len()
    );
    assert_eq!(layout.nodes.len(), 5000);
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
}

/// Forty callees of one function would be a rank of forty.
#[test]
fn a_fan_is_no_band() {
    let size = Size {
        width: 200.0,
        height: 40.0,
    };
    let links: Vec<Link> = (1..=40)
        .map(|to| Link {
            from: 0,
            to,
            weight: 1.0,
            label: None,
        })
        .collect();
    let layout = check(&[size; 41], &links);
    let mut ranks: std::collections::BTreeMap<i64, usize> = std::collections::BTreeMap::new();
    for rect in &layout.nodes {
        *ranks.entry(rect.y.round() as i64).or_default() += 1;
    }
    assert!(ranks.values().all(|&count| count <= 10), "{ranks:?}");
    let width = layout.size.width;
    assert!(width < 0.7 * 40.0 * 222.0, "{width}");
}

/// Brandes and Köpf's places alone made this picture more than twice as wide.
#[test]
fn a_program_is_as_wide_as_its_ranks() {
    let (sizes, links) = program(80, 10, 200);
    let layout = check(&sizes, &links);
    let mut ranks: std::collections::BTreeMap<i64, f64> = std::collections::BTreeMap::new();
    for rect in &layout.nodes {
        let middle = (rect.y + rect.height / 2.0).round() as i64;
        *ranks.entry(middle).or_default() += rect.width + 22.0;
    }
    let widest = ranks.values().copied().fold(0.0, f64::max);
    assert!(
        layout.size.width < 2.0 * widest,
        "{} {widest}",
        layout.size.width
    );
}
