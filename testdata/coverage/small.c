#define TWICE(n) ((n) > 1 ? 2 * (n) : 0)
static int twice(int n)
{
    return TWICE(n);
}

int main(void)
{
    int sum = 0;
    for (int n = 0; n < 5; n++) {
        if (n > 3)
            sum += twice(n);
    }
    return sum > 100;
}
