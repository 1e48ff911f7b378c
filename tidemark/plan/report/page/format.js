// Numbers as the command prints them.
const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

// Two decimals. What lies halfway, which are odd eighths alone, goes to the even digit as in {:.2f}; toFixed takes it up.
function twoDecimals(number) {
  const halfwayToUp = (8 * Math.abs(number)) % 4 === 1;  // .125 and .625
  return (halfwayToUp ? number - Math.sign(number) / 1024 : number).toFixed(2);
}

function bytesText(count) {
  let amount = count;
  let unit = 0;
  while (Math.abs(amount) >= 1024 && unit + 1 < UNITS.length) {
    amount /= 1024;
    ++unit;
  }
  return unit === 0 ? `${count} B` : `${twoDecimals(amount)} ${UNITS[unit]}`;
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
const percentText = (percent) => `${percent >= 0 ? "+" : "−"}${twoDecimals(Math.abs(percent))}%`;

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
