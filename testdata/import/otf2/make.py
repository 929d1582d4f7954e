import otf2, os, shutil
from otf2.enums import *
shutil.rmtree('arch', ignore_errors=True)
TR=1_000_000
with otf2.writer.open('arch', timer_resolution=TR) as trace:
    d=trace.definitions
    f={n: d.region(n, source_file='app.c', begin_line_number=10+i, end_line_number=20+i, region_role=RegionRole.FUNCTION) for i,n in enumerate(['main','work','inner','MPI_Recv'])}
    root=d.system_tree_node('machine'); node=d.system_tree_node('node', parent=root)
    m=d.metric('PAPI_TOT', unit='#')
    for rank in range(2):
        lg=d.location_group(f'MPI Rank {rank}', system_tree_parent=node)
        for th in range(2):
            loc=d.location(f'Thread {th}', group=lg, type=LocationType.CPU_THREAD)
            w=trace.event_writer_from_location(loc)
            t=1000+rank*10
            w.enter(t, f['main']); t+=100
            for i in range(3):
                w.enter(t,f['work']); t+=50+th
                w.enter(t,f['inner']); t+=25
                w.leave(t,f['inner']); t+=5
                w.leave(t,f['work'])
            w.metric(t, m, 3)
            w.enter(t,f['MPI_Recv']); t+=1000*(rank+1)
            w.leave(t,f['MPI_Recv'])
            w.leave(t,f['main'])
