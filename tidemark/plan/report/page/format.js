// Numbers as the command prints them.
const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

function bytesText(count) {
  let amount = count;
  let unit = 0;
  while (Math.abs(amount) >= 1024 && unit + 1 < UNITS.length) {
    amount /= 1024;
    ++unit;
  }
  return unit === 0 ? `${count} B` : `${amount.toFixed(2)} ${UNITS[unit]}`;
}

// Four significant digits, as {:.4g}.
function fourDigits(number) {
  if (number === 0) return "0";
  const power = Math.floor(Math.log10(Math.abs(number)));
  if (power >= 4) return Math.round(number).toLocaleString("en-US");
  return String(Number(number.toPrecision(4)));
}

// Milliseconds, or from ten seconds on seconds.
const timeText = (seconds) => (Math.abs(seconds) < 10 ? `${fourDigits(1e3 * seconds)} ms` : `${fourDigits(seconds)} s`);
const countText = (count) => count.toLocaleString("en-US");
const percentText = (percent) => `${percent >= 0 ? "+" : "−"}${Math.abs(percent).toFixed(2)}%`;

// Round distances between ticks: 1, 2 or 5 times a power of ten, of two for bytes.
function tickStep(range, most, isBytes) {
  const rough = Math.max(range / Math.max(1, most), Number.MIN_VALUE);
  if (isBytes) {
    let step = 1;
    while (step < rough) step *= 2;
    return step;
  }
  const base = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((k) => k * base).find((step) => step >= rough);
}

// Bytes on an axis: no more digits than the tick has.
function byteTick(value) {
  if (value === 0) return "0";
  let amount = value;
  let unit = 0;
  while (amount >= 1024 && unit + 1 < UNITS.length) {
    amount /= 1024;
    ++unit;
  }
  return `${Number(amount.toFixed(2))} ${UNITS[unit]}`;
}
