// The square map: each box is a function, as large as its time, and inside it is what it calls. It
// shows the boxes of the flame graph, so it opens, is chosen from and searched like one.

import { useLayoutEffect, useMemo, useState } from "preact/hooks";

import type { AboutRecording } from "../../about";
import { isFile, useAnswer, type Values } from "../../ask";
import { fills, type Look } from "../../canvas/colours";
import { find, findAll, findOpened, nameOf, NARROW, pathOf, place as placed, type Flame } from "../../canvas/picture";
import { SquareCanvas } from "../../canvas/squares";
import { useCanvas } from "../../canvas/use_canvas";
import { count } from "../../numbers";
import { shared } from "../../parts/asked";
import { tell } from "../../parts/details";
import { Figure } from "../../parts/figure";
import { FoldChoice } from "../../parts/fold";
import { Legend } from "../../parts/legend";
import { LookChoice, useLook } from "../../parts/look";
import { usePictureMenu } from "../../parts/picture_menu";
import { useSearch } from "../../parts/search";
import { Table, type Column } from "../../parts/table";
import { Waiting } from "../../parts/waiting";
import { Words } from "../../parts/words";
import { change, usePlace } from "../../place";
import { Callers } from "../flame/callers";
import { BoxDetails, rowOf } from "../flame/details";

export function SquareView(_: { recording: AboutRecording }) {
  const place = usePlace();
  const { text, field } = useSearch();
  const question = { ...shared(place), order: "widest", libraries: place.values.libraries };
  const path = isFile ? undefined : place.values.path;
  const answer = useAnswer<Flame>("flame", { ...question, path });
  const look = useLook();
  return (
    <section class="flame" aria-label="Square map">
      <div class="tools">
        <LookChoice />
        <FoldChoice />
        {field}
        {place.values.path !== undefined && (
          <button type="button" onClick={() => change({ path: "" })}>
            Zoom out
          </button>
        )}
        <span class="soft hint">A click opens a box; what stays free in it is its own time.</span>
      </div>
      <Waiting answer={answer}>{(flame) => <Squares flame={flame} question={question} look={look} search={text} />}</Waiting>
    </section>
  );
}

function Squares({ flame, question, look, search }: { flame: Flame; question: Values; look: Look; search: string }) {
  const place = usePlace();
  const { path } = place.values;
  const picture = useMemo(() => placed(flame), [flame]);
  // An offline file has the whole alone: it is opened here.
  const root = path === undefined ? 0 : Math.max(0, findOpened(picture, path));
  const { order: _, ...asked } = question;
  const boxAt = (at: { x: number; y: number }) => sheet.current?.at(at.x, at.y) ?? -1;
  const { box, canvas, sheet, isDark, theme, props } = useCanvas((canvas) => new SquareCanvas(canvas), {
    point: (at) => hover(at === undefined ? -1 : boxAt(at)),
    release: (at, isClick) => {
      if (isClick) {
        select(boxAt(at));
        open(boxAt(at));
      }
    },
    menu: (at) => {
      const chosen = boxAt(at);
      select(chosen);
      menu.open(chosen, at.x, at.y);
    },
  });
  const menu = usePictureMenu(picture, canvas);
  const colours = useMemo(() => fills(picture, look, isDark), [picture, look, isDark]);
  useLayoutEffect(() => {
    const made = sheet.current;
    if (made !== undefined) {
      const chosen = made.picture?.boxes.path[made.selected];
      made.show(picture, root);
      made.selected = chosen === undefined ? -1 : find(picture, chosen);
    }
  }, [picture, root]);
  useLayoutEffect(() => {
    const made = sheet.current;
    if (made !== undefined) {
      made.fills = colours.of;
      made.found = findAll(picture, search);
      made.theme = theme();
      made.draw();
    }
  }, [colours, search, picture, isDark]);
  const details = (at: number) => <BoxDetails picture={picture} at={at} question={asked} />;
  const hover = (at: number) => {
    const made = sheet.current;
    if (made !== undefined && at !== made.hovered) {
      made.hovered = at;
      made.draw();
      if (at >= 0) {
        tell(details(at));
      }
    }
  };
  const select = (at: number) => {
    const made = sheet.current;
    if (made !== undefined && at >= 0) {
      made.selected = at;
      made.draw();
      tell(details(at));
    }
  };
  /** Opens a box: it fills the picture. What is too small to be seen becomes a picture of its own. */
  const open = (at: number) => {
    if (at < 0) {
      return;
    }
    const isNarrow = picture.boxes.function[at] === NARROW;
    if (isNarrow && isFile) {
      tell(<Words text="This file has these calls as one box. `profundo view FILE` opens it." />);
    } else if (!isNarrow || at !== 0) {
      change({ path: pathOf(picture, at) });
    }
  };
  const out = () => {
    const { callers } = flame;
    const above = root > 0 ? picture.boxes.path[picture.parent[root]] : callers.path[callers.path.length - 1];
    change({ path: above === undefined || above === 0 ? "" : String(above) });
  };
  /** The boxes beside a box, and inside it, the largest first, as far as they are drawn. */
  const beside = (parent: number) =>
    [...picture.parent.keys()].filter((at) => picture.parent[at] === parent && sheet.current?.areaOf(at) !== undefined).sort((a, b) => picture.boxes.weight[b] - picture.boxes.weight[a]);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) {
      return;
    }
    const at = sheet.current === undefined || sheet.current.selected < 0 ? root : sheet.current.selected;
    const next = (step: number) => {
      const list = at === root ? [] : beside(picture.parent[at]);
      select(list[list.indexOf(at) + step] ?? at);
    };
    const steps: Record<string, () => void> = {
      ArrowDown: () => select(beside(at)[0] ?? at),
      ArrowUp: () => select(at === root ? at : picture.parent[at]),
      ArrowRight: () => next(1),
      ArrowLeft: () => next(-1),
      Enter: () => open(at),
      Escape: () => change({ path: "" }),
      Backspace: out,
      m: () => {
        const area = sheet.current?.areaOf(at);
        menu.open(at, (area?.x ?? 0) + 20, (area?.y ?? 0) + 20);
      },
    };
    const step = steps[event.key];
    if (step !== undefined) {
      event.preventDefault();
      step();
    }
  };
  return (
    <>
      <Callers flame={flame} isOpen={path !== undefined} picture={picture} root={root} />
      <div class="picture square" ref={box}>
        <canvas
          {...props}
          tabIndex={0}
          role="application"
          aria-label={`Square map of ${count(picture.boxes.level.length)} boxes. The down arrow goes into a box, up to the box around it, left and right to its neighbours; Enter opens, Backspace goes back, M opens a menu. The table below has the same numbers.`}
          onKeyDown={onKeyDown}
        />
        {menu.shown}
      </div>
      <Legend colours={colours.legend} />
      <Inside flame={flame} root={root} onOpen={open} picture={picture} />
    </>
  );
}

/** What the opened box calls, as a table. */
function Inside({ flame, root, picture, onOpen }: { flame: Flame; root: number; picture: ReturnType<typeof placed>; onOpen: (at: number) => void }) {
  const [isOpen, setOpen] = useState(false);
  const { boxes, unit } = flame;
  const rows = useMemo(() => [...picture.parent.keys()].filter((at) => picture.parent[at] === root), [picture, root]);
  const columns: Column<number>[] = [
    { title: "Total", order: (at) => boxes.weight[at], cell: (at) => <Figure row={rowOf(flame, at)} is="weight" unit={unit} />, isNumber: true, width: "7em" },
    { title: "", cell: (at) => <Figure row={rowOf(flame, at)} is="share" />, isNumber: true, width: "5.5em" },
    { title: "Self", order: (at) => boxes.own[at], cell: (at) => <Figure row={rowOf(flame, at)} is="own" unit={unit} />, isNumber: true, width: "7em" },
    { title: "Function", order: (at) => nameOf(picture, at), cell: (at) => nameOf(picture, at) },
  ];
  return (
    <details class="as-table numbers" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>What {nameOf(picture, root) === "all" ? "everything" : nameOf(picture, root)} calls, as a table</summary>
      {isOpen && (
        <Table
          rows={rows}
          columns={columns}
          label="Boxes in the opened box"
          name="boxes"
          keyOf={(at) => String(boxes.path[at])}
          onPoint={(at) => at !== undefined && tell(<BoxDetails picture={picture} at={at} />)}
          onChoose={onOpen}
        />
      )}
    </details>
  );
}
