// Every text whose contrast with its ground is below 4.5 to 1 (WCAG AA), as "ratio ELEMENT.class".
() => {
  const paint = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const over = (colours) => {
    paint.clearRect(0, 0, 1, 1);
    for (const colour of colours) {
      paint.fillStyle = colour;
      paint.fillRect(0, 0, 1, 1);
    }
    return [...paint.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const linear = (value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
  const luminance = (rgb) => {
    const [r, g, b] = rgb.map((value) => linear(value / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const written = (e) => [...e.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
  const faint = new Set();
  for (const e of document.querySelectorAll("body *")) {
    if (e.closest("svg, script") || !e.checkVisibility() || !written(e)) continue;
    const grounds = [];
    for (let at = e; at; at = at.parentElement) grounds.unshift(getComputedStyle(at).backgroundColor);
    const ground = luminance(over(grounds));
    const ink = luminance(over([...grounds, getComputedStyle(e).color]));
    const ratio = (Math.max(ground, ink) + 0.05) / (Math.min(ground, ink) + 0.05);
    if (ratio < 4.5) faint.add(`${ratio.toFixed(2)} ${e.tagName}.${e.className} in ${e.parentElement.className}`);
  }
  return [...faint];
}
