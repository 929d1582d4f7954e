// The colours of the page around a picture, as a canvas needs them.

export interface Theme {
  ground: string;
  ink: string;
  softInk: string;
  line: string;
  mark: string;
}

/** The colours of the page as it is now. */
export function themeNow(isDark: boolean): Theme {
  const style = getComputedStyle(document.body);
  return {
    ground: style.backgroundColor,
    ink: isDark ? "#fff" : "#000",
    softInk: isDark ? "rgba(255,255,255,0.72)" : "rgba(0,0,0,0.66)",
    line: style.backgroundColor,
    mark: style.color,
  };
}
