// The overview of a flame graph: all of it in a strip, with a frame around the window that is shown. It
// is there as soon as not everything can be seen. The frame can be dragged, and a click moves it.

import { useLayoutEffect, useRef, useState } from "preact/hooks";

import type { Fills } from "../../canvas/colours";
import type { FlameCanvas } from "../../canvas/flame";
import { Overview, type Frame } from "../../canvas/overview";
import { find, type Picture } from "../../canvas/picture";
import { useCanvas, type Held } from "../../canvas/use_canvas";

export function Minimap({
  sheet,
  isMade,
  picture,
  whole,
  colours,
  isDark,
  onMoved,
  onWhole,
}: {
  sheet: Held<FlameCanvas | undefined>;
  /** Whether the canvas of the picture is there. */
  isMade: boolean;
  picture: Picture;
  /** The picture of everything: the same one, if nothing was zoomed into. */
  whole: Picture;
  /** The colours of its boxes. */
  colours: Fills;
  isDark: boolean;
  onMoved: () => void;
  /** Shows a part of the whole. */
  onWhole: (from: number, to: number) => void;
}) {
  const [isShown, setShown] = useState(false);
  // The box of the whole that the picture begins with, and the level that it stands on.
  const root = whole === picture ? 0 : Math.max(0, nearest(whole, picture));
  const level = whole === picture ? 0 : picture.flame.callers.level.length + 1;
  const frame = useRef<(() => Frame | undefined) | undefined>(undefined);
  frame.current = () => {
    const made = sheet.current;
    if (made === undefined || picture.width <= 0 || whole.width <= 0) {
      return undefined;
    }
    const scale = whole.extent[root] / picture.width;
    return {
      from: (whole.start[root] + made.from * scale) / whole.width,
      to: (whole.start[root] + made.to * scale) / whole.width,
      top: level + made.top,
      rows: made.room,
    };
  };
  useLayoutEffect(() => {
    const made = sheet.current;
    if (made === undefined) {
      return;
    }
    made.drawn = () => {
      const now = frame.current?.();
      const isPart = now !== undefined && (now.to - now.from < 0.999 || whole.rows.length > level + made.room + 1);
      setShown(isPart);
      map.current?.(now);
    };
    made.draw();
    return () => {
      made.drawn = undefined;
    };
  }, [picture, whole, isMade]);
  const map = useRef<((frame: Frame | undefined) => void) | undefined>(undefined);
  const move = (middle: number, row: number) => {
    const made = sheet.current;
    const now = frame.current?.();
    if (made === undefined || now === undefined) {
      return;
    }
    const half = (now.to - now.from) / 2;
    const from = Math.max(0, Math.min(1 - 2 * half, middle - half));
    const scale = whole.extent[root] / whole.width;
    const start = whole.start[root] / whole.width;
    if (whole === picture || (from >= start - 1e-9 && from + 2 * half <= start + scale + 1e-9)) {
      const width = picture.width;
      made.from = Math.max(0, ((from - start) / scale) * width);
      made.to = Math.min(width, made.from + ((2 * half) / scale) * width);
      made.top = 0;
      made.scroll(Math.max(0, Math.round(row - level - made.room / 2)));
      onMoved();
    } else {
      onWhole(from, from + 2 * half);
    }
  };
  return isShown ? <Strip whole={whole} colours={colours} isDark={isDark} isIcicle={sheet.current?.isIcicle ?? true} map={map} onMove={move} first={frame.current} /> : null;
}

/** The strip itself, which is for the pointer alone: keys zoom and move the picture. */
function Strip({
  whole,
  colours,
  isDark,
  isIcicle,
  map,
  onMove,
  first,
}: {
  whole: Picture;
  colours: Fills;
  isDark: boolean;
  isIcicle: boolean;
  map: Held<((frame: Frame | undefined) => void) | undefined>;
  onMove: (middle: number, row: number) => void;
  first: () => Frame | undefined;
}) {
  const go = (at: { x: number; y: number }) => {
    const made = sheet.current;
    if (made !== undefined) {
      onMove(at.x / (made.width || 1), made.rowAt(at.y));
    }
  };
  const { box, sheet, theme, props } = useCanvas((canvas) => new Overview(canvas), {
    press: go,
    drag: (_, at) => go(at),
  });
  useLayoutEffect(() => {
    const made = sheet.current;
    if (made !== undefined) {
      made.isIcicle = isIcicle;
      made.theme = theme();
      made.show(whole, colours.of);
      map.current = (frame) => made.mark(frame);
      made.mark(first());
    }
    return () => {
      map.current = undefined;
    };
  }, [whole, isDark, isIcicle, colours]);
  return (
    <div class="picture minimap" ref={box} aria-hidden="true">
      <canvas {...props} title="The whole picture. Drag the frame to look elsewhere." />
    </div>
  );
}

/** The box of the whole that a part of it begins with, or the nearest caller that can be seen there. */
function nearest(whole: Picture, part: Picture): number {
  const { callers, boxes } = part.flame;
  for (const path of [boxes.path[0], ...[...callers.path].reverse()]) {
    const at = find(whole, path);
    if (at >= 0) {
      return at;
    }
  }
  return 0;
}
