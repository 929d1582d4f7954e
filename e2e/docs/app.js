// Works for a moment in a function that is worth compiling.
function hot(count) {
    let total = 0;
    for (let i = 0; i < count; i++) total = (total + i * 31) % 1000003;
    return total;
}

const end = Date.now() + 500;
while (Date.now() < end) hot(100000);
