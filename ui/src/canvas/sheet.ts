// A canvas as a sheet: it has the size of its box, is drawn with the next frame of the screen, and can
// be drawn as SVG too. Pictures are made of it.

import { SvgPen, type Pen } from "./pen";

export abstract class Sheet {
  /** The size in pixels of the page. */
  width = 0;
  height = 0;
  /** The time that the last frame took, in milliseconds. */
  lastFrame = 0;
  /** The callback that runs after each frame. */
  drawn: (() => void) | undefined;
  private isAsked = false;

  constructor(readonly canvas: HTMLCanvasElement) {}

  /** Draws all. */
  protected abstract paint(pen: Pen): void;

  resize(width: number, height: number): void {
    const scale = devicePixelRatio || 1;
    this.width = width;
    this.height = height;
    this.canvas.width = Math.round(width * scale);
    this.canvas.height = Math.round(height * scale);
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    this.draw();
  }

  /** Draws with the next frame of the screen. */
  draw(): void {
    if (!this.isAsked) {
      this.isAsked = true;
      requestAnimationFrame(() => {
        this.isAsked = false;
        const began = performance.now();
        this.paintNow();
        this.lastFrame = performance.now() - began;
        this.drawn?.();
      });
    }
  }

  /** The picture as SVG. */
  svg(title: string): string {
    const pen = new SvgPen();
    this.paint(pen);
    return pen.text(this.width, this.height, title);
  }

  protected paintNow(): void {
    const context = this.canvas.getContext("2d");
    if (context !== null) {
      const scale = devicePixelRatio || 1;
      context.setTransform(scale, 0, 0, scale, 0, 0);
      this.paint(context);
    }
  }
}

/** A canvas that knows its picture. Saving a picture needs it, and so do tests. */
export type SheetElement = HTMLCanvasElement & { drawing?: Sheet };
