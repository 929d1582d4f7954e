# Regions without own time: `main` and `outer` only call, and `leaf` is left in the tick it was entered.
import otf2, shutil
shutil.rmtree('arch', ignore_errors=True)
with otf2.writer.open('arch', timer_resolution=1_000_000) as trace:
    d = trace.definitions
    main, outer, inner, leaf = (d.region(name) for name in ['main', 'outer', 'inner', 'leaf'])
    node = d.system_tree_node('node', parent=d.system_tree_node('machine'))
    location = d.location('Thread 0', group=d.location_group('Process', system_tree_parent=node))
    events = trace.event_writer_from_location(location)
    events.enter(1000, main)
    events.enter(1000, outer)
    events.enter(1000, inner)
    events.leave(1500, inner)
    events.enter(1500, leaf)
    events.leave(1500, leaf)
    events.leave(1500, outer)
    events.leave(1500, main)
