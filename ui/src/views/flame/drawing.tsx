// A flame graph that is drawn: with its keys, its menu, its details, its overview and its legend.

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useMemo } from "preact/hooks";

import { isFile, type Values } from "../../ask";
import { fills, type Fills, type Look } from "../../canvas/colours";
import { FlameCanvas, ROW } from "../../canvas/flame";
import { find, findAll, NARROW, pathOf, place as placed, sibling, widestCallee, type Flame, type Picture } from "../../canvas/picture";
import { useCanvas } from "../../canvas/use_canvas";
import { count } from "../../numbers";
import { tell } from "../../parts/details";
import { Legend } from "../../parts/legend";
import { usePictureMenu } from "../../parts/picture_menu";
import { Words } from "../../parts/words";
import { change, usePlace } from "../../place";
import { Callers } from "./callers";
import { BoxDetails } from "./details";
import { Minimap } from "./minimap";
import { useZoom } from "./zoom";

/** Rows of a small picture. */
const SMALL = 14;

/** The picture. Another view has its own fills and words for a box. */
export function Drawing({
  flame,
  whole,
  question,
  look = "kind",
  search,
  isIcicle,
  isSmall,
  pathName = "path",
  fillsOf = (picture, isDark, whole) => fills(picture, look, isDark, whole),
  details = (picture, at) => <BoxDetails picture={picture} at={at} question={question} />,
}: {
  flame: Flame;
  /** The picture of everything, where this one is a part of it. */
  whole?: Flame;
  /** The question that the picture answers, without a path: shares of boxes are asked with it. */
  question?: Values;
  look?: Look;
  search: string;
  isIcicle: boolean;
  isSmall: boolean;
  /** The value of the place that names the box that was zoomed into. */
  pathName?: string;
  fillsOf?: (picture: Picture, isDark: boolean, whole: Picture) => Fills;
  details?: (picture: Picture, at: number) => ComponentChildren;
}) {
  const place = usePlace();
  const path = place.values[pathName];
  const picture = useMemo(() => placed(flame), [flame]);
  const overview = useMemo(() => (whole === undefined ? picture : placed(whole)), [whole, picture]);
  const { box, canvas, sheet, isMade, isDark, theme, props } = useCanvas((canvas) => new FlameCanvas(canvas), {
    point: (at) => hover(at === undefined ? -1 : (sheet.current?.at(at.x, at.y) ?? -1)),
    drag: (by) => {
      sheet.current?.pan(by.x, by.y);
      zoomed.moved();
    },
    release: (at, isClick) => {
      const chosen = sheet.current?.at(at.x, at.y) ?? -1;
      if (isClick) {
        select(chosen);
        zoom(chosen);
      }
    },
    menu: (at) => {
      const chosen = sheet.current?.at(at.x, at.y) ?? -1;
      if (chosen >= 0) {
        select(chosen);
        menu.open(chosen, at.x, at.y);
      }
    },
    wheel: (event) => {
      const made = sheet.current;
      if (made === undefined) {
        return;
      }
      if (event.ctrlKey || event.metaKey) {
        event.preventDefault();
        made.zoom(Math.exp(event.deltaY / 300), event.offsetX);
        zoomed.moved();
      } else if (!isSmall) {
        event.preventDefault();
        made.pan(-event.deltaX, 0);
        made.scroll(((isIcicle ? 1 : -1) * event.deltaY) / ROW);
        if (event.deltaX !== 0) {
          zoomed.moved();
        }
      }
    },
  });
  const menu = usePictureMenu(picture, canvas);
  const zoomed = useZoom(sheet, picture, path, pathName);
  const colours = useMemo(() => fillsOf(picture, isDark, overview), [picture, overview, look, isDark]);
  const allColours = useMemo(() => (overview === picture ? colours : fillsOf(overview, isDark, overview)), [colours]);

  useLayoutEffect(() => {
    const made = sheet.current;
    if (made === undefined) {
      return;
    }
    made.isIcicle = isIcicle;
    // What was chosen stays chosen, where it is in the new picture too.
    const chosen = made.picture?.boxes.path[made.selected];
    made.show(picture);
    made.selected = chosen === undefined ? -1 : find(picture, chosen);
    zoomed.apply();
  }, [picture, isIcicle]);
  useLayoutEffect(() => {
    const made = sheet.current;
    if (made === undefined) {
      return;
    }
    made.fills = colours.of;
    made.found = findAll(picture, search);
    made.theme = theme();
    made.draw();
  }, [colours, search, picture, isDark]);

  const hover = (at: number) => {
    const made = sheet.current;
    if (made !== undefined && at !== made.hovered) {
      made.hovered = at;
      made.draw();
      if (at >= 0) {
        tell(details(picture, at));
      }
    }
  };
  const select = (at: number) => {
    const made = sheet.current;
    if (made !== undefined && at >= 0) {
      made.selected = at;
      made.reveal(at);
      tell(details(picture, at));
    }
  };
  /** Makes a box as wide as the picture. What is too narrow to be seen becomes a picture of its own. */
  const zoom = (at: number) => {
    const made = sheet.current;
    const isNarrow = picture.boxes.function[at] === NARROW;
    if (made === undefined || at < 0 || (isNarrow && at === 0)) {
      return;
    }
    if (isNarrow && isFile) {
      tell(<Words text="This file has these calls as one box. `profundo view FILE` opens it." />);
      return;
    }
    made.zoomTo(at);
    change({ [pathName]: pathOf(picture, at), [zoomed.name]: "" });
  };
  const out = () => change({ [pathName]: "", [zoomed.name]: "" });
  const onKeyDown = (event: KeyboardEvent) => {
    const made = sheet.current;
    if (made === undefined || event.ctrlKey || event.metaKey || event.altKey) {
      return;
    }
    const at = made.selected < 0 ? 0 : made.selected;
    const width = (factor: number) => {
      made.zoom(factor, made.width / 2);
      zoomed.moved();
    };
    const steps: Record<string, () => void> = {
      ArrowUp: () => select(isIcicle ? picture.parent[at] : widestCallee(picture, at)),
      ArrowDown: () => select(isIcicle ? widestCallee(picture, at) : picture.parent[at]),
      ArrowLeft: () => select(sibling(picture, at, -1)),
      ArrowRight: () => select(sibling(picture, at, 1)),
      Enter: () => zoom(at),
      Escape: out,
      Backspace: out,
      "+": () => width(0.7),
      "-": () => width(1.4),
      m: () => menu.open(at, 40, 40),
    };
    const step = steps[event.key];
    if (step !== undefined) {
      event.preventDefault();
      step();
    }
  };
  const rows = Math.min(picture.rows.length + 1, isSmall ? SMALL : 400);
  return (
    <>
      <Callers flame={flame} isOpen={path !== undefined} pathName={pathName} />
      <div class="picture" ref={box} style={isSmall ? { height: `${Math.max(6, rows) * ROW}px` } : undefined}>
        <canvas
          {...props}
          tabIndex={0}
          role="application"
          aria-label={`Flame graph of ${count(picture.boxes.level.length)} boxes. Arrow keys go to callers, callees and neighbours, Enter zooms in, M opens a menu. The views Functions and Source have the same numbers as tables.`}
          onKeyDown={onKeyDown}
        />
        {menu.shown}
      </div>
      <Minimap sheet={sheet} isMade={isMade} picture={picture} whole={overview} colours={allColours} isDark={isDark} onMoved={zoomed.moved} onWhole={zoomed.wholly} />
      <Legend colours={colours.legend} />
    </>
  );
}
