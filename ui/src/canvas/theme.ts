// The colours of the page around a picture, as a canvas needs them.
//
// Words on a box have a contrast of 4.5 with each fill that there is, also those that are softer and
// those of boxes that a search leaves pale (`access.test.mjs`).

export interface Theme {
  ground: string;
  ink: string;
  softInk: string;
  line: string;
  mark: string;
}

/** The ink of words on boxes, and of words that say less. Dark fills leave no room between both. */
export const INKS: Record<"light" | "dark", Pick<Theme, "ink" | "softInk">> = {
  light: { ink: "#000", softInk: "rgba(0,0,0,0.74)" },
  dark: { ink: "#fff", softInk: "#fff" },
};

/** A box that a search does not find: its fill, and its words, are so much of what they are. */
export const PALE = 0.3;
export const PALE_WORDS = 0.62;

/** The colours of the page as it is now. */
export function themeNow(isDark: boolean): Theme {
  const style = getComputedStyle(document.body);
  return {
    ground: style.backgroundColor,
    ...INKS[isDark ? "dark" : "light"],
    line: style.backgroundColor,
    mark: style.color,
  };
}
