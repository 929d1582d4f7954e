//! Libraries that are loaded and unloaded in turn, most likely at the same address, and called
//! while they are sampled. Some of the turns are shorter than the sampler's period of looking at
//! the modules.
//!
//! `plugins <one.so> <two.so> [engine]`; `lib.so` has a function `work_of_one` or `work_of_two`.

use std::ffi::{CString, c_void};
use std::time::Instant;

use profundo_e2e::{argument, seconds, shape, shape::Named, storm_on, sys};

struct Library(*mut c_void);

impl Library {
    fn open(path: &str) -> Self {
        let path = CString::new(path).unwrap();
        // SAFETY: the library's constructors do nothing.
        let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        assert!(!handle.is_null());
        Self(handle)
    }

    fn call(&self, name: &str, turns: u64) -> u64 {
        let name = CString::new(name).unwrap();
        // SAFETY: the function has this signature: the test compiled it.
        unsafe {
            let function = libc::dlsym(self.0, name.as_ptr());
            assert!(!function.is_null());
            std::mem::transmute::<*mut c_void, extern "C" fn(u64) -> u64>(function)(turns)
        }
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        // SAFETY: nothing of the library is used any more.
        assert_eq!(unsafe { libc::dlclose(self.0) }, 0);
    }
}

fn main() {
    let (one, two) = (argument(1).unwrap(), argument(2).unwrap());
    let engine = argument(3).unwrap_or_else(|| "auto".into());
    storm_on(&engine).apply().unwrap();
    let end = Instant::now() + seconds(1.5);
    profundo::start().unwrap();
    let mut round = 0;
    while Instant::now() < end {
        round += 1;
        // Every other turn is too quick to be seen, and modules are looked at every 10 ms: samples
        // before the look have the name of the previous library.
        let patience = if round % 2 == 0 { 80 } else { 1 };
        for (path, name) in [(&one, "work_of_one"), (&two, "work_of_two")] {
            let library = Library::open(path);
            let began = Instant::now();
            while began.elapsed().as_millis() < patience {
                std::hint::black_box(library.call(name, 20_000));
            }
        }
    }
    profundo::stop();
    let data = profundo::fetch().unwrap();
    let shape = shape::check(&data, 0.99);
    let named_by = Named::new(&data);
    // The libraries may lie at one address at different times. The module of the sample
    // distinguishes them.
    let profile = data.profile();
    let mut named = [0.0; 2];
    let mut wrong = 0.0;
    for sample in &profile.samples {
        for id in profile.stacks.locations(sample.stack) {
            let Some(module) = profile.locations.get(id).module else {
                continue;
            };
            let path = profile.strings.get(profile.modules.get(module).path);
            let Some(which) = [&one, &two].iter().position(|wanted| path == *wanted) else {
                continue;
            };
            let expected = ["work_of_one", "work_of_two"][which];
            let weight = sample.weight.0 as f64 / 1e9;
            if named_by.at(id).iter().any(|name| name == expected) {
                named[which] += weight;
            } else {
                wrong += weight;
            }
            break;
        }
    }
    let line = format!("{round} rounds, {named:?} s named, {wrong} s wrong, {shape:?}\n");
    sys::note(&line);
    assert!(named[0] > 0.1 && named[1] > 0.1, "{line}");
    assert!(wrong < 0.25 * (named[0] + named[1]), "{line}");
    sys::print_line("the libraries are gone");
}
