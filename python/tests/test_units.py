"""Numbers with their units, at the edges between units."""

import unittest

from profundo._units import duration, size


class Durations(unittest.TestCase):
    def test_each_has_the_unit_that_suits_it(self):
        for seconds, text in (
            (None, ""),
            (0, "0 s"),
            (1e-15, "0 s"),
            (4.9e-12, "0 s"),
            (1e-11, "0.01 ns"),
            (74.4e-9, "74.4 ns"),
            (999e-9, "999 ns"),
            (999.4e-9, "999 ns"),
            (999.6e-9, "1.00 µs"),
            (1.5e-6, "1.50 µs"),
            (9.994e-6, "9.99 µs"),
            (9.996e-6, "10.0 µs"),
            (99.94e-6, "99.9 µs"),
            (99.96e-6, "100 µs"),
            (1e-3, "1.00 ms"),
            (0.123456789, "123 ms"),
            (0.9994, "999 ms"),
            (0.999999999, "1.00 s"),
            (1.0, "1.00 s"),
            (35.249, "35.2 s"),
            (59.499, "59.5 s"),
            (59.6, "1 min 00 s"),
            (3599.4, "59 min 59 s"),
            (3599.6, "1 h 00 min"),
            (90_000.0, "25 h 00 min"),
            (-0.25, "-250 ms"),
        ):
            self.assertEqual(duration(seconds), text, seconds)


class Sizes(unittest.TestCase):
    def test_each_has_the_unit_that_suits_it(self):
        for number, text in (
            (None, ""),
            (0, "0 B"),
            (1, "1 B"),
            (999, "999 B"),
            (999.6, "1.00 kB"),
            (1000, "1.00 kB"),
            (9_994, "9.99 kB"),
            (9_996, "10.0 kB"),
            (999_499, "999 kB"),
            (999_500, "1.00 MB"),
            (1_073_741_824, "1.07 GB"),
            (999_999_999_999, "1.00 TB"),
            (2**64 - 1, "18.4 EB"),
            (1e21, "1000 EB"),
            (-5_000_000, "-5.00 MB"),
        ):
            self.assertEqual(size(number), text, number)


if __name__ == "__main__":
    unittest.main()
