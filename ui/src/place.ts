// Where the reader is: a view and its values. The place stands in the address of the page, so that
// it can be shared, and each step can be taken back with the browser's own button.

import { useEffect, useState } from "preact/hooks";

/** A place. */
export interface Place {
  /** The name of a view; empty for the first one. */
  view: string;
  values: Record<string, string>;
}

function parse(hash: string): Place {
  const [view, query = ""] = hash.replace(/^#/, "").split("?", 2);
  return { view, values: Object.fromEntries(new URLSearchParams(query)) };
}

/** The text of a place in an address. */
export function hashOf(place: Place): string {
  const kept = Object.entries(place.values).filter(([, value]) => value !== "");
  const query = new URLSearchParams(kept.sort(([a], [b]) => (a < b ? -1 : 1))).toString();
  return `#${place.view}${query === "" ? "" : `?${query}`}`;
}

/** What the frame around this page gives it: the place where it begins, and its title. */
export function framedBy(name: "place" | "title"): string {
  return document.querySelector<HTMLMetaElement>(`meta[name="profundo-${name}"]`)?.content ?? "";
}

let current = parse(location.hash === "" ? framedBy("place") : location.hash);
const watchers = new Set<() => void>();

/** The place. */
export function usePlace(): Place {
  const [, redraw] = useState(0);
  useEffect(() => {
    const watch = () => redraw((n) => n + 1);
    watchers.add(watch);
    return () => {
      watchers.delete(watch);
    };
  }, []);
  return current;
}

/** These values stay when the reader goes to another view. */
const SHARED = ["filter", "of", "count", "recording", "mine", "runtime", "at"];

/** Goes to another view, with what holds for all views. */
export function show(view: string, values: Record<string, string> = {}): void {
  const shared = Object.fromEntries(SHARED.map((name) => [name, current.values[name] ?? ""]));
  goTo({ view, values: { ...shared, ...values } }, true);
}

/** Changes values of this view. A step can be taken back; what changes while typing is no step. */
export function change(values: Record<string, string>, isStep = true): void {
  goTo({ view: current.view, values: { ...current.values, ...values } }, isStep);
}

/** The address of a view, for links. */
export function link(view: string, values: Record<string, string> = {}): string {
  const shared = Object.fromEntries(SHARED.map((name) => [name, current.values[name] ?? ""]));
  return hashOf({ view, values: { ...shared, ...values } });
}

function goTo(place: Place, isStep: boolean): void {
  current = { view: place.view, values: Object.fromEntries(Object.entries(place.values).filter(([, v]) => v !== "")) };
  try {
    if (isStep) {
      history.pushState(null, "", hashOf(current));
    } else {
      history.replaceState(null, "", hashOf(current));
    }
  } catch {
    // A page within another one may have no address of its own. The place is kept here alone.
  }
  watchers.forEach((watch) => watch());
}

addEventListener("popstate", () => {
  current = parse(location.hash);
  watchers.forEach((watch) => watch());
});
addEventListener("hashchange", () => {
  if (location.hash !== hashOf(current)) {
    current = parse(location.hash);
    watchers.forEach((watch) => watch());
  }
});
