//! However many tasks come and go: the memory is bounded, and its contents are right.

use super::*;

fn here() -> &'static Location<'static> {
    Location::caller()
}

fn add(registry: &mut Registry, number: u64, name: &str) -> Arc<Running> {
    let running = Arc::new(Running::default());
    registry.add(number, name, here(), running.clone());
    running
}

fn name_of(registry: &Registry, number: u64) -> Option<String> {
    let infos = registry.infos();
    let info = infos.into_iter().find(|info| info.number == number)?;
    Some(info.name)
}

/// The parked task with this number.
fn park_of(registry: &Registry, wanted: u64) -> Option<Arc<Park>> {
    let picked = (0..registry.living()).filter_map(|position| registry.pick(position));
    picked
        .filter_map(|picked| match picked {
            Picked::Parked { number, park, .. } if number == wanted => Some(park),
            _ => None,
        })
        .next()
        .expect("it lives and is parked")
}

#[test]
fn tasks_of_one_name_are_remembered_in_great_number() {
    let mut registry = Registry::default();
    let many = REMEMBERED as u64 + 1000;
    for number in 0..many {
        add(&mut registry, number, "request");
        registry.end(number);
    }
    assert_eq!((registry.living(), registry.names.len()), (0, 1));
    assert_eq!(registry.infos().len(), REMEMBERED);
    assert_eq!(name_of(&registry, many - 1).as_deref(), Some("request"));
    assert_eq!(name_of(&registry, 0), None);
}

#[test]
fn names_are_bounded_in_number_and_length() {
    let mut registry = Registry::default();
    let many = 3 * MOST_NAMES as u64;
    for number in 0..many {
        add(
            &mut registry,
            number,
            &format!("{number} {}", "ü".repeat(10_000)),
        );
        registry.end(number);
        assert!(registry.names.len() <= MOST_NAMES);
    }
    let bytes: usize = registry.names.iter().map(|name| name.text.len()).sum();
    assert!(bytes <= MOST_NAMES * LONGEST_NAME, "{bytes} bytes");
    let last = name_of(&registry, many - 1).expect("the newest is remembered");
    assert!(last.starts_with(&format!("{} üü", many - 1)) && last.ends_with("ü…"));
    assert!(last.len() > LONGEST_NAME - 4, "{} bytes", last.len());
    // The memory of those that lost their name was freed, too.
    assert_eq!(registry.ended.len(), MOST_NAMES);
}

#[test]
fn a_crowd_of_living_tasks_with_a_name_each_has_no_more_names_than_are_kept() {
    let mut registry = Registry::default();
    let many = 2 * MOST_NAMES as u64;
    for number in 0..many {
        add(&mut registry, number, &format!("connection {number}"));
    }
    assert!(registry.names.len() <= MOST_NAMES + 1);
    assert_eq!(name_of(&registry, 0).as_deref(), Some("connection 0"));
    assert_eq!(name_of(&registry, many - 1).as_deref(), Some(""));
    let infos = registry.infos();
    assert_eq!(infos.len() as u64, many);
    assert!(
        infos
            .iter()
            .all(|info| info.spawned_at.contains("tests.rs:"))
    );
    for number in 0..many {
        registry.end(number);
    }
    assert_eq!(registry.living(), 0);
    assert!(registry.living.capacity() < many as usize / 2);
    add(&mut registry, many, "after the crowd");
    assert_eq!(name_of(&registry, many).as_deref(), Some("after the crowd"));
}

#[test]
fn tasks_that_park_at_one_place_share_its_stack() {
    let mut registry = Registry::default();
    for number in 0..1000 {
        add(&mut registry, number, "waits");
        registry.park(number, &[1, 2, 3], End::Root, 0);
    }
    assert_eq!((registry.parks.len(), registry.words), (1, 3));
    // It parks elsewhere, and ends there.
    registry.park(7, &[4, 5], End::Broken, 0);
    assert_eq!((registry.parks.len(), registry.words), (2, 5));
    let park = park_of(&registry, 7).expect("it parked");
    assert_eq!((&*park.stack, park.end), (&[4, 5][..], End::Broken));
    drop(park);
    registry.end(7);
    assert_eq!((registry.parks.len(), registry.words), (1, 3));
    for number in 0..1000 {
        registry.end(number);
    }
    assert_eq!((registry.parks.len(), registry.words), (0, 0));
}

#[test]
fn stacks_of_parked_tasks_are_bounded() {
    let mut registry = Registry::default();
    let deep = vec![7; 256];
    let many = 4 * MOST_WORDS as u64 / 256;
    for number in 0..many {
        add(&mut registry, number, "waits");
        let mut stack = deep.clone();
        stack[255] = number;
        registry.park(number, &stack, End::Root, 0);
    }
    assert!(registry.words <= MOST_WORDS + 1, "{}", registry.words);
    let first = park_of(&registry, 0).expect("it parked");
    assert_eq!((first.stack.len(), first.end), (256, End::Root));
    let last = park_of(&registry, many - 1).expect("it parked");
    assert_eq!((&*last.stack, last.end), (&[7][..], End::Truncated));
}

#[test]
fn every_living_task_can_be_picked_whoever_ended_before() {
    let mut registry = Registry::default();
    for number in 0..100 {
        add(&mut registry, number, "one");
    }
    for number in (0..100).filter(|number| number % 3 != 0) {
        registry.end(number);
    }
    let mut picked: Vec<u64> = (0..registry.living())
        .filter_map(|position| registry.pick(position))
        .map(|picked| match picked {
            Picked::Parked { number, .. } => number,
            Picked::Running { tid } => panic!("nobody polls, yet thread {tid} does"),
        })
        .collect();
    picked.sort_unstable();
    let left: Vec<u64> = (0..100).filter(|number| number % 3 == 0).collect();
    assert_eq!(picked, left);
    assert!(registry.pick(left.len()).is_none());
}

#[test]
fn a_task_that_moved_on_unseen_is_not_shown_where_it_parked_before() {
    let mut registry = Registry::default();
    let running = add(&mut registry, 1, "moves on");
    registry.park(1, &[1, 2], End::Root, 0);
    park_of(&registry, 1).expect("it parked");
    running.is_kept_park_old.store(true, Ordering::Relaxed);
    assert!(park_of(&registry, 1).is_none());
    registry.park(1, &[3], End::Root, 0);
    assert_eq!(&*park_of(&registry, 1).expect("it parked").stack, &[3]);
}
