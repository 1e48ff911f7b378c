// Polynomials of the vector math, fitted with 40 digits and more: by Remez exchange or at Chebyshev nodes.
#pragma once

namespace tidemark {

// expm1(r) = r + r² q(r) for |r| ≤ ln(2)/2; relative error below 1.4e-8 and 2e-17.
inline constexpr float expm1_coefficients_f32[] = {0.5000000062f, 0.1666654299f, 0.04166628202f,
                                                   0.00836658395f, 0.001394645072f};
inline constexpr double expm1_coefficients_f64[] = {
    0.5000000000000005550273,     0.1666666666666668598516,      0.04166666666657362171074,
    0.008333333333314600776107,   0.001388888893237976325761,    0.0001984126990301001126136,
    0.00002480150444486822567379, 0.000002755722797256987666027, 2.762632693397053882745e-7,
    2.511446718187267676468e-8};

// 2^r = 1 + r q(r) for |r| ≤ 1/2; what it leaves of 2^r: a relative error below 2e-9.
inline constexpr float exp2_coefficients_f32[] = {0.6931472029f,   0.2402264791f,  0.0555033241f,
                                                  0.009618437606f, 0.00133989002f, 0.0001535334124f};

// log(1 + f) = f + f² q(f) for 1/√2 ≤ 1 + f ≤ √2; relative error below 5e-9.
inline constexpr float log1p_coefficients_f32[] = {-0.4999998824f, 0.333333256f,   -0.2500159409f,
                                                   0.2000198821f,  -0.1660879796f, 0.1418134224f,
                                                   -0.1324504605f, 0.1290864512f,  -0.07621773443f};

// log(erfc a)/a = q(a) for 0 ≤ a ≤ 4; what it leaves of erf a: a relative error below 5e-9.
inline constexpr float log_erfc_coefficients_f32[] = {-1.128379172f,    -0.6366193813f,    -0.10277784f,
                                                      0.01915310994f,   0.0001602906103f,  -0.001666901065f,
                                                      0.0006327557494f, -0.0001176150171f, 9.25291316e-6f};

// erf(x) = x·p(x²) for |x| ≤ 1; relative error below 2e-19.
inline constexpr double erf_coefficients_f64[] = {
    1.12837916709551257377,     -0.376126389031837480557,     0.112837916709548786662,
    -0.0268661706450767932482,  0.00522397762481801446725,    -0.000854832698083378990518,
    0.000120553311116427109225, -0.0000149255952668311815652, 0.0000016461000484121368033,
    -1.63503127010546950107e-7, 1.46597752740474358138e-8,    -1.13728488567916736704e-9,
    5.95717614774891140443e-11};

// exp(a²/2)·Φ(-a), Φ the normal distribution.
// f32: p(a)/q(a) for 0 ≤ a ≤ 14.45; relative error below 6e-9. p is divided by 2^64, as its reader's
// exponential is multiplied by it.
inline constexpr float mills_over_f32[] = {0.5f * 0x1p-64f, 0.4381975444f * 0x1p-64f,
                                           0.1831630533f * 0x1p-64f, 0.04060894169f * 0x1p-64f,
                                           0.004112704157f * 0x1p-64f};
inline constexpr float mills_under_f32[] = {1.0f,         1.674280067f,  1.202203562f,
                                            0.469280326f, 0.1017980029f, 0.01030889993f};
// f64: r·p((5 - a/8)·r) with r = 1/(a + 5), for 0 ≤ a ≤ 40; relative error below 1e-18. The argument of p
// runs from 1 to 0, and there the terms of p hardly cancel.
inline constexpr double mills_coefficients_f64[] = {
    0.448530083473558948974,   0.443499816172042065923,    0.416002169863406618411,
    0.367547139192848072688,   0.30293696548238298258,     0.229707017241200102583,
    0.156795689304162843367,   0.0926982116286584155451,   0.0435728561157613638556,
    0.0120741903968375935149,  -0.0038690048377457639671,  -0.00513676709470708948813,
    -0.0114088378548219627436, 0.018934134246101518179,    -0.0440091612059828684855,
    0.0861921896775034929481,  -0.125869659120139288547,   0.148165249833139999335,
    -0.135831129071730048373,  0.0913373047116124768936,   -0.0429988454398494508548,
    0.0134244415756144167375,  -0.00250700946643529338717, 0.000212955176580854769215};

}  // namespace tidemark
