import profundo

p = profundo.load("app.profundo")
print(f"{p.command}: {p.duration:.1f} s, {p.quality.samples} samples")
for line in p.lines[:2]:
    print(line.self_share, f"line {line.line}:", line.text)
