// What breaks a layout: an element that is wider than the screen and in nothing that scrolls or clips.

/** Texts that take more than the screen: a name must not push all else away. */
export function tallerThanScreen(page) {
  return page.page.evaluate(() => {
    const texts = [...document.querySelectorAll("#page :is(p, h2, h3, li, code, span, b, bdi, button, a, td, .chip, .name)")];
    return texts
      .filter((element) => element.clientHeight > 700 && element.closest("ul.menu, .drawn") === null && element.querySelector("table, canvas, ol, ul") === null)
      .map((element) => `${element.tagName.toLowerCase()}.${element.className}: ${element.clientHeight} px, ${element.textContent.slice(0, 40)}`)
      .slice(0, 5);
  });
}

/** The elements that a reader could only see by scrolling the whole page sideways. */
export function widerThanScreen(page) {
  return page.page.evaluate(() => {
    const wide = [];
    const most = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth > most + 1) {
      wide.push(`the page: ${document.documentElement.scrollWidth} px of ${most}`);
    }
    const isHeld = (element) => {
      for (let up = element.parentElement; up !== null; up = up.parentElement) {
        // What holds it must itself be on the screen.
        if (getComputedStyle(up).overflowX !== "visible" && up.getBoundingClientRect().right <= most + 1) {
          return true;
        }
      }
      return false;
    };
    for (const element of document.querySelectorAll("#page *")) {
      const box = element.getBoundingClientRect();
      if (box.width > 0 && box.right > most + 1 && !isHeld(element) && !element.matches(".skip, .hidden")) {
        wide.push(`${element.tagName.toLowerCase()}.${element.className} to ${Math.round(box.right)} px: ${element.textContent.slice(0, 40)}`);
      }
    }
    return wide.slice(0, 5);
  });
}
