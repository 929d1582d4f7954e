// What pictures are drawn with: a canvas's own context, or a pen that writes the same as SVG. So a
// picture is saved as it is seen.

/** The part of a canvas's context that pictures use. */
export type Pen = Pick<
  CanvasRenderingContext2D,
  | "fillStyle" | "strokeStyle" | "globalAlpha" | "lineWidth" | "font" | "textBaseline" | "textAlign"
  | "fillRect" | "strokeRect" | "fillText" | "measureText" | "setLineDash"
  | "beginPath" | "moveTo" | "lineTo" | "rect" | "clip" | "stroke" | "save" | "restore"
>;

const round = (value: number) => String(Math.round(value * 100) / 100);

function escaped(text: string): string {
  // Characters that no XML may have are left out.
  return text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "").replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/"/g, "&quot;");
}

const BASELINES: Record<string, string> = { middle: "central", top: "hanging", bottom: "auto", alphabetic: "auto" };
const ANCHORS: Record<string, string> = { left: "start", start: "start", right: "end", end: "end", center: "middle" };

/** Writes what is drawn as SVG. */
export class SvgPen implements Pen {
  fillStyle: string | CanvasGradient | CanvasPattern = "#000";
  strokeStyle: string | CanvasGradient | CanvasPattern = "#000";
  globalAlpha = 1;
  lineWidth = 1;
  font = "12px sans-serif";
  textBaseline: CanvasTextBaseline = "alphabetic";
  textAlign: CanvasTextAlign = "left";
  private readonly parts: string[] = [];
  private path = "";
  private dashes: number[] = [];
  private clips = 0;
  private readonly saved: string[] = [];
  private readonly ruler = document.createElement("canvas").getContext("2d");

  fillRect(x: number, y: number, width: number, height: number): void {
    this.parts.push(`<rect x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}" fill="${this.fillStyle}"${this.alpha()}/>`);
  }

  strokeRect(x: number, y: number, width: number, height: number): void {
    this.parts.push(`<rect x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}" fill="none"${this.line()}/>`);
  }

  fillText(text: string, x: number, y: number): void {
    const [, size = "12", family = "sans-serif"] = /(\d+)px\s+(.*)/.exec(this.font) ?? [];
    const weight = /^(bold|[67]00)\b/.test(this.font) ? ' font-weight="600"' : "";
    this.parts.push(
      `<text x="${round(x)}" y="${round(y)}" font-size="${size}" font-family="${escaped(family)}"${weight} fill="${this.fillStyle}"` +
        ` dominant-baseline="${BASELINES[this.textBaseline] ?? "auto"}" text-anchor="${ANCHORS[this.textAlign] ?? "start"}" xml:space="preserve"${this.alpha()}>${escaped(text)}</text>`,
    );
  }

  measureText(text: string): TextMetrics {
    if (this.ruler === null) {
      return { width: text.length * 7 } as TextMetrics;
    }
    this.ruler.font = this.font;
    return this.ruler.measureText(text);
  }

  setLineDash(dashes: number[]): void {
    this.dashes = dashes;
  }

  beginPath(): void {
    this.path = "";
  }

  moveTo(x: number, y: number): void {
    this.path += `M${round(x)} ${round(y)}`;
  }

  lineTo(x: number, y: number): void {
    this.path += `L${round(x)} ${round(y)}`;
  }

  rect(x: number, y: number, width: number, height: number): void {
    this.path += `M${round(x)} ${round(y)}h${round(width)}v${round(height)}h${round(-width)}z`;
  }

  clip(): void {
    this.clips += 1;
    this.parts.push(`<clipPath id="c${this.clips}"><path d="${this.path}"/></clipPath><g clip-path="url(#c${this.clips})">`);
    this.saved[this.saved.length - 1] = "</g>";
  }

  stroke(): void {
    this.parts.push(`<path d="${this.path}" fill="none"${this.line()}/>`);
  }

  save(): void {
    this.saved.push("");
  }

  restore(): void {
    this.parts.push(this.saved.pop() ?? "");
  }

  /** All that was drawn. */
  text(width: number, height: number, title: string): string {
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${round(width)}" height="${round(height)}" viewBox="0 0 ${round(width)} ${round(height)}"><title>${escaped(title)}</title>${this.parts.join("")}</svg>`;
  }

  private alpha(): string {
    return this.globalAlpha === 1 ? "" : ` opacity="${round(this.globalAlpha)}"`;
  }

  private line(): string {
    const dashes = this.dashes.length === 0 ? "" : ` stroke-dasharray="${this.dashes.join(" ")}"`;
    return ` stroke="${this.strokeStyle}" stroke-width="${round(this.lineWidth)}"${dashes}${this.alpha()}`;
  }
}
