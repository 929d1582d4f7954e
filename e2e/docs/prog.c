/* Calls functions a known number of times. */
static volatile long sink;

void parse_digit(int digit) {
    for (int i = 0; i < 100 + digit; i++) sink += i;
}

void parse_number(int digits) {
    for (int digit = 0; digit < digits; digit++) parse_digit(digit);
}

int main(void) {
    for (int line = 0; line < 2000; line++) parse_number(5);
    return 0;
}
