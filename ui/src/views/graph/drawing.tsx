// The call graph that is drawn: boxes and arrows that can be pointed at, chosen, and gone along with
// the keys. It is SVG in the page, in the page's colours.

import type { RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

import { KINDS } from "../../canvas/colours";
import { count } from "../../numbers";
import { useDark } from "../../parts/dark";
import { tell } from "../../parts/details";
import { Menu } from "../../parts/menu";
import { change, usePlace } from "../../place";
import { choicesFor } from "../../parts/box_menu";
import { neighboursOf, stepFrom, type Chosen, type Graph } from "./answer";
import { EdgeDetails, NodeDetails } from "./details";
import { useCamera, type Camera } from "./view_box";

/** What a box's menu offers, and what a double click does: the graph around its function. */
export function centreOn(graph: Graph, node: number): void {
  const { name, file } = graph.nodes[node];
  change({ function: name, file, zoom: "" });
}

export function GraphDrawing({ graph, isFunctions, chosen, onChoose }: { graph: Graph; isFunctions: boolean; chosen: number | undefined; onChoose: (node: number | undefined) => void }) {
  const place = usePlace();
  const box = useRef<HTMLDivElement>(null);
  const svg = useRef<SVGSVGElement>(null);
  const size = useSize(box);
  const camera = useCamera(graph, size, graph.centre === null ? undefined : graph.nodes[graph.centre].area);
  const [hovered, setHovered] = useState<Chosen>(undefined);
  const [menu, setMenu] = useState<{ x: number; y: number; node: number } | undefined>(undefined);
  const isDark = useDark();
  const pointer = usePointer(camera, size, () => onChoose(undefined));
  const point = (what: Chosen) => {
    setHovered(what);
    if (what !== undefined) {
      tell("node" in what ? <NodeDetails graph={graph} node={what.node} /> : <EdgeDetails graph={graph} edge={what.edge} />);
    }
  };
  const choose = (node: number) => {
    onChoose(node);
    camera.reveal(graph.nodes[node].area);
    tell(<NodeDetails graph={graph} node={node} />);
  };
  useEffect(() => {
    // A row of the table was chosen.
    if (chosen !== undefined && size.width > 0) {
      camera.reveal(graph.nodes[chosen].area);
    }
  }, [chosen]);
  const open = (node: number, x: number, y: number) => {
    choose(node);
    if (isFunctions) {
      setMenu({ x, y, node });
    }
  };
  const openBeside = (node: number) => {
    const [left, top] = graph.nodes[node].area;
    const { view } = camera;
    open(node, ((left - view.x) / view.width) * size.width + 20, ((top - view.y) / view.height) * size.height + 20);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) {
      return;
    }
    const at = chosen ?? graph.centre ?? 0;
    const steps: Record<string, () => void> = {
      Enter: () => (chosen === undefined ? choose(at) : openBeside(at)),
      m: () => openBeside(at),
      c: () => isFunctions && centreOn(graph, at),
      "+": () => camera.zoom(0.8),
      "-": () => camera.zoom(1.25),
      "0": () => camera.fit(),
      Escape: () => (chosen === undefined ? change({ function: "", file: "", steps: "", zoom: "" }) : onChoose(undefined)),
      Home: () => choose(0),
    };
    const run = event.key.startsWith("Arrow") ? () => choose(chosen === undefined ? at : stepFrom(graph, at, event.key)) : steps[event.key];
    if (run !== undefined) {
      event.preventDefault();
      event.stopPropagation();
      run();
    }
  };
  const lit = chosen === undefined ? undefined : neighboursOf(graph, chosen);
  const { view } = camera;
  const choices = menu === undefined ? [] : choicesFor({ ...graph.nodes[menu.node], library: "" }, place.values.filter ?? "", true);
  if (menu !== undefined) {
    choices.unshift({ title: "Centre the graph on this function", run: () => centreOn(graph, menu.node) });
  }
  return (
    <div class="picture graph" ref={box}>
      <svg
        ref={svg}
        {...pointer}
        tabindex={0}
        role="application"
        aria-label={`Call graph of ${count(graph.nodes.length)} boxes and ${count(graph.edges.length)} arrows. Arrow keys go up to callers, down to callees and sideways, Enter chooses and opens a menu, C centres, plus and minus zoom. The table below has the same numbers.`}
        viewBox={`${view.x} ${view.y} ${view.width} ${view.height}`}
        onKeyDown={onKeyDown}
      >
        {graph.edges.map((edge, at) => (
          <Arrow
            key={`e${at}`}
            graph={graph}
            at={at}
            isFaint={lit !== undefined && edge.caller !== chosen && edge.callee !== chosen}
            isLit={(hovered !== undefined && "edge" in hovered && hovered.edge === at) || (lit !== undefined && (edge.caller === chosen || edge.callee === chosen))}
            onPoint={point}
          />
        )).reverse()}
        {graph.nodes.map((node, at) => (
          <Box
            key={`n${at}`}
            graph={graph}
            at={at}
            colour={KINDS[node.kind]?.[isDark ? 1 : 0] ?? "transparent"}
            isFaint={lit !== undefined && at !== chosen && !lit.has(at)}
            isChosen={at === chosen}
            onPoint={point}
            onChoose={() => !pointer.wasMoved() && choose(at)}
            onCentre={() => isFunctions && centreOn(graph, at)}
            onMenu={(event) => {
              const around = box.current?.getBoundingClientRect() ?? { left: 0, top: 0 };
              open(at, event.clientX - around.left, event.clientY - around.top);
            }}
          />
        ))}
      </svg>
      <span class="corner">
        <button type="button" onClick={() => camera.zoom(0.7)} aria-label="Larger">+</button>
        <button type="button" onClick={() => camera.zoom(1.4)} aria-label="Smaller">−</button>
        <button type="button" onClick={camera.fit} disabled={camera.isWhole}>Fit</button>
      </span>
      {menu !== undefined && (
        <Menu
          x={menu.x}
          y={menu.y}
          isFree
          choices={choices}
          onClose={() => {
            setMenu(undefined);
            svg.current?.focus();
          }}
        />
      )}
    </div>
  );
}

/** The size of an element. */
function useSize(box: RefObject<HTMLDivElement | null>): { width: number; height: number } {
  const [size, setSize] = useState({ width: 0, height: 0 });
  useEffect(() => {
    const element = box.current;
    if (element === null) {
      return;
    }
    const observer = new ResizeObserver(() => setSize({ width: element.clientWidth, height: element.clientHeight }));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return size;
}

/** Dragging moves the graph, the wheel makes it larger or smaller, two fingers do both. */
function usePointer(camera: Camera, size: { width: number; height: number }, onGround: () => void) {
  const held = useRef(new Map<number, { x: number; y: number }>());
  const moved = useRef(false);
  return {
    wasMoved: () => moved.current,
    onPointerDown: (event: PointerEvent) => {
      if (held.current.size === 0) {
        moved.current = false;
      }
      held.current.set(event.pointerId, { x: event.clientX, y: event.clientY });
    },
    onPointerMove: (event: PointerEvent) => {
      const last = held.current.get(event.pointerId);
      if (last === undefined) {
        return;
      }
      const [x, y] = [event.clientX - last.x, event.clientY - last.y];
      if (!moved.current && Math.abs(x) + Math.abs(y) < 5) {
        return;
      }
      moved.current = true;
      (event.currentTarget as Element).setPointerCapture(event.pointerId);
      const others = [...held.current.entries()].filter(([id]) => id !== event.pointerId);
      held.current.set(event.pointerId, { x: event.clientX, y: event.clientY });
      if (others.length === 0) {
        camera.pan(x, y);
        return;
      }
      const [, other] = others[0];
      const apart = (at: { x: number; y: number }) => Math.hypot(at.x - other.x, at.y - other.y) || 1;
      camera.zoom(apart(last) / apart({ x: event.clientX, y: event.clientY }));
    },
    onPointerUp: (event: PointerEvent) => {
      held.current.delete(event.pointerId);
      if (!moved.current && event.button === 0 && event.target === event.currentTarget) {
        onGround();
      }
    },
    onPointerCancel: (event: PointerEvent) => void held.current.delete(event.pointerId),
    onWheel: (event: WheelEvent) => {
      event.preventDefault();
      const area = (event.currentTarget as Element).getBoundingClientRect();
      if (event.ctrlKey || event.metaKey || !event.shiftKey) {
        camera.zoom(Math.exp(event.deltaY / (event.ctrlKey ? 150 : 500)), (event.clientX - area.left) / (size.width || 1), (event.clientY - area.top) / (size.height || 1));
      } else {
        camera.pan(-event.deltaX - event.deltaY, 0);
      }
    },
  };
}

function Arrow({ graph, at, isFaint, isLit, onPoint }: { graph: Graph; at: number; isFaint: boolean; isLit: boolean; onPoint: (what: Chosen) => void }) {
  const { line, width, tip, label, label_area, is_bridge, share } = graph.edges[at];
  if (line === "") {
    return null;
  }
  const name = `arrow${is_bridge ? " bridge" : ""}${isFaint ? " faint" : ""}${isLit ? " lit" : ""}`;
  return (
    <g class={name} onPointerEnter={() => onPoint({ edge: at })} onPointerLeave={() => onPoint(undefined)}>
      <path class="near" d={line} />
      <path d={line} stroke-width={width} stroke-opacity={isLit ? 1 : 0.45 + 0.5 * Math.sqrt(share)} />
      <polygon points={tip} />
      {label_area !== null && (
        <>
          <rect class="ground" x={label_area[0]} y={label_area[1]} width={label_area[2]} height={label_area[3]} />
          <text x={label_area[0] + label_area[2] / 2} y={label_area[1] + 10} font-size="10">
            {label}
          </text>
        </>
      )}
    </g>
  );
}

function Box({
  graph,
  at,
  colour,
  isFaint,
  isChosen,
  onPoint,
  onChoose,
  onCentre,
  onMenu,
}: {
  graph: Graph;
  at: number;
  colour: string;
  isFaint: boolean;
  isChosen: boolean;
  onPoint: (what: Chosen) => void;
  onChoose: () => void;
  onCentre: () => void;
  onMenu: (event: MouseEvent) => void;
}) {
  const { area, title, place, figures, font, total_share } = graph.nodes[at];
  const [x, y, width, height] = area;
  const middle = (width + 5) / 2;
  const first = 5 + font;
  const second = first + 13;
  return (
    <g
      class={`node${isFaint ? " faint" : ""}${isChosen ? " chosen" : ""}${graph.centre === at ? " centre" : ""}`}
      transform={`translate(${x} ${y})`}
      onPointerEnter={() => onPoint({ node: at })}
      onPointerLeave={() => onPoint(undefined)}
      onClick={onChoose}
      onDblClick={onCentre}
      onContextMenu={(event) => {
        event.preventDefault();
        onMenu(event);
      }}
    >
      <rect class="ground" width={width} height={height} rx="4" />
      <rect class="heat" width={width} height={height} rx="4" fill-opacity={0.62 * Math.min(1, total_share) ** 0.7} />
      <rect x="1" y="3" width="4" height={height - 6} rx="1" fill={colour} />
      <text x={middle} y={first} font-size={font}>
        {title}
      </text>
      {place !== "" && (
        <text class="place" x={middle} y={second} font-size="10">
          {place}
        </text>
      )}
      <text x={middle} y={(place === "" ? first : second) + 15} font-size="11">
        {figures}
      </text>
    </g>
  );
}
