// The pictures of the view that is open, as files: each as PNG, in the size of the screen, and as SVG.

import type { SheetElement } from "../canvas/sheet";
import { save } from "./files";

/** A picture on the page. */
export interface Drawn {
  /** What it shows, in words. */
  name: string;
  png: () => Promise<Blob>;
  svg: () => Blob;
}

/** What is read back of a drawing's style. */
const STYLES = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-linecap", "opacity", "font-family", "font-size", "font-weight", "text-anchor"];

/** The pictures, in the order of the page. */
export function picturesNow(): Drawn[] {
  const found: Drawn[] = [];
  for (const box of document.querySelectorAll<HTMLElement>("main .picture:not(.minimap)")) {
    const [canvas, drawing] = [box.querySelector<SheetElement>("canvas"), box.querySelector<SVGSVGElement>(":scope > svg")];
    const label = box.closest("section[aria-label]")?.getAttribute("aria-label") ?? "Picture";
    const number = found.filter(({ name }) => name.startsWith(label)).length;
    const name = number === 0 ? label : `${label}, ${number + 1}`;
    if (drawing !== null) {
      found.push({ name, svg: () => blobOf(textOf(drawing)), png: () => painted(drawing) });
    } else if (canvas?.drawing !== undefined) {
      const sheet = canvas.drawing;
      found.push({ name, svg: () => blobOf(sheet.svg(name)), png: () => bytesOf(canvas) });
    }
  }
  return found;
}

/** Saves a picture. */
export async function savePicture(picture: Drawn, stem: string, ending: "png" | "svg"): Promise<void> {
  const words = picture.name.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");
  save(ending === "svg" ? picture.svg() : await picture.png(), `${stem}.${words}.${ending}`);
}

function blobOf(svg: string): Blob {
  return new Blob([svg], { type: "image/svg+xml" });
}

function bytesOf(canvas: HTMLCanvasElement): Promise<Blob> {
  return new Promise((resolve, reject) => canvas.toBlob((bytes) => (bytes === null ? reject(new Error("The picture is empty.")) : resolve(bytes))));
}

/** A drawing of the page as a text of its own: all of it, whatever part is in the window. */
function textOf(drawing: SVGSVGElement): string {
  const copy = drawing.cloneNode(true) as SVGSVGElement;
  const [originals, copies] = [drawing.querySelectorAll("*"), copy.querySelectorAll("*")];
  originals.forEach((original, at) => {
    const style = getComputedStyle(original);
    for (const name of STYLES) {
      copies[at].setAttribute(name, style.getPropertyValue(name));
    }
    copies[at].removeAttribute("class");
  });
  const { x, y, width, height } = drawing.getBBox();
  const margin = 12;
  const size = [Math.ceil(width + 2 * margin), Math.ceil(height + 2 * margin)];
  for (const name of ["class", "tabindex", "role", "aria-label"]) {
    copy.removeAttribute(name);
  }
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", String(size[0]));
  copy.setAttribute("height", String(size[1]));
  copy.setAttribute("viewBox", `${x - margin} ${y - margin} ${size[0]} ${size[1]}`);
  const ground = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  const area: [string, number][] = [["x", x - margin], ["y", y - margin], ["width", size[0]], ["height", size[1]]];
  area.forEach(([name, value]) => ground.setAttribute(name, String(value)));
  ground.setAttribute("fill", getComputedStyle(document.body).backgroundColor);
  copy.prepend(ground);
  return new XMLSerializer().serializeToString(copy);
}

/** The most pixels of a side: browsers have no larger pictures. */
const MOST = 8000;

/** A drawing as PNG, twice as large as it is, so that its names can be read. */
async function painted(drawing: SVGSVGElement): Promise<Blob> {
  const address = URL.createObjectURL(blobOf(textOf(drawing)));
  try {
    const image = new Image();
    image.src = address;
    await image.decode();
    const scale = Math.min(2, MOST / image.width, MOST / image.height);
    const canvas = document.createElement("canvas");
    canvas.width = Math.max(1, Math.round(image.width * scale));
    canvas.height = Math.max(1, Math.round(image.height * scale));
    canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
    return await bytesOf(canvas);
  } finally {
    URL.revokeObjectURL(address);
  }
}
