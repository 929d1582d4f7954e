"""The same calls in the workers of pools that begin in each of the three ways."""
import multiprocessing


def square(number):
    return number * number


if __name__ == '__main__':
    for method in ('fork', 'spawn', 'forkserver'):
        context = multiprocessing.get_context(method)
        with context.Pool(2) as pool:
            assert pool.map(square, range(20)) == [number ** 2 for number in range(20)]
            pool.close()
            pool.join()
    print('done')
