import unittest

from pricing import price


class Price(unittest.TestCase):
    def test_an_order_costs_its_pieces(self):
        self.assertEqual(price(3, 250), 750)


if __name__ == "__main__":
    unittest.main()
