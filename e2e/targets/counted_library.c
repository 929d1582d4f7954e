// A library in which a compiler counts.
int twice(int n);

int twice(int n)
{
    if (n > 20)
        return 0;
    return 2 * n;
}
