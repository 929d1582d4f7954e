# Half of the work is done by the threads of a library, while one line waits.
import sys, time
import numpy
a = numpy.random.rand(1200, 1200)
end = time.process_time() + float(sys.argv[1])
while time.process_time() < end:
    a @ a.T  # waits
