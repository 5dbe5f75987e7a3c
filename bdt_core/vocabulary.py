"""Words that names of columns and of values are made of, in English, Dutch, German, French and Spanish.

``word`` stands for any word that begins so, ``=word`` for the word alone, ``~word`` for any name that has it somewhere;
accents, capitals and signs do not count. ``high_risk`` are two words that follow each other.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Literal

Topic = Literal[
    "protected",
    "one group",
    "age",
    "identifier",
    "code",
    "category",
    "error",
    "outcome alone",
    "outcome",
    "prediction",
    "score",
    "amount",
    "worse",
    "better",
    "yes",
]

_WORDS: dict[Topic, str] = {
    "protected": """
        =race =race1 =race2 =races racial ethni =sex =sexe =sexo =sekse ~gender ~geslacht ~geschlecht =genre genero
        relig ~godsdienst geloofs konfession =confession =culte disab handicap invalid behinder ~beperking discapac
        minusval ~nationali =native_country nacionalidad citizen burgerschap staatsburger staatsangeh ciudadan citoyen
        =skin ~huidskleur hautfarbe =orientation =sexual_orientation ~gerichtheid
        herkomst afkomst herkunft =origine =origen =origin migrat migrant ~geboorteland geburtsland country_of_birth
        birth_country pays_de_naissance pais_de_nacimiento =foreign foreign_ auslander =etranger =extranjero buitenland
        marital =marriage =married burgerlijke_staat ~huwelijk familienstand etat_civil estado_civil
        pregnan zwanger schwanger enceinte embaraz veteran native_
        """,
    "one group": """
        =male =female =man =woman =women =men =vrouw =vrouwen =mannen =mannlich =weiblich =homme =femme =hombre =mujer
        =asian =black =white =hisp =hispanic =latino =latina =caucasian =african_american =christian =muslim =moslim
        =immigrant =foreigner =vreemdeling
        """,
    "age": "=age =ages =leeftijd =alter =edad =alder ageband age_ leeftijds alters",
    "identifier": """
        =id =ids =uuid =guid =key =index =nr =no =number =unnamed =nummer =numero =num =identifier ~kenmerk =bsn =ssn
        =klantnummer =kundennummer =rownames =rowid =row =rij =zeile =ligne =fila =identifiant =identificador
        ~nummer
        """,
    "code": "zip postal postcode =code region district branch plz =cp wijk buurt gemeente bezirk kreis arrondissement",
    "category": """
        =type =kind =class =category =categorie =kategorie =categoria =soort =art =group =groupe =grupo =groep =gruppe
        =cluster =sector =sektor =secteur department =afdeling =abteilung =job =beroep =beruf =occupation purpose =doel
        =status =stand =estado
        """,
    "error": """
        =error =errors =residual =residu =false_pos ~false_positive ~false_negative misclass mistake =fp =fn =fout
        =fouten =fehler =erreur =erreurs =errores =wrong =incorrect =falsch
        """,
    "outcome alone": """
        =y =target =label =labels =class =outcome =result =results =final =resultaat =uitkomst =ergebnis =resultat
        =resultado =doelvariabele =ziel =zielvariable =cible =objetivo =klasse =ground_truth =y_true
        """,
    "outcome": """
        =label =target =outcome =outcomes truth actual observed =y_true default repaid =repay recid fraud churn diagnos
        =pass =passed =promoted =promotion dropout =dropped_out convict arrest =result =resultaat =uitkomst
        =ergebnis =resultat =resultado =survived =success =income =fail =failed wanbetal recidiv betrug fraude ausfall
        =fined =beboet
        ruckfall geslaagd uitgevallen terugbetaald zuruckgezahlt bestanden durchgefallen impay rembours defaut reussi
        echec reincid impago moros aprobado reembols abandon betaald over_50k
        """,
    "prediction": """
        predict =pred =y_hat =yhat =y_pred decision approv =granted =grant admitted =admission =hired selected flagged
        high_risk classified =rejected =refused =denied =promoted
        voorspel =besluit beslissing toegekend toegewezen goedgekeurd afgewezen aangenomen geselecteerd
        vorhersag prognos entscheid bewilligt genehmigt abgelehnt eingestellt zugelassen
        prevision accord accept admis embauch refuse rejet
        prediccion pronostic concedid admitid contratad rechaz deneg seleccion
        """,
    "score": "~score =prob ~probab =proba =risk =risico ~risiko =risque =riesgo kans wahrschein puntaje =puntuacion",
    "amount": "=income =salary =wage =wages inkomen =loon einkommen gehalt =revenu =salaire =ingresos =salario",
    "worse": """
        default fail refus reject denied =deny denial fraud recid risk =fp =fn error mistake wrong late delinq churn
        dropout dropped arrest convict flag suspic =unduly death died disease mortal complain =bad =unpaid false_
        =fine =fines =fined =boete =beboet =bussgeld =amende =multa
        fout fouten afgewezen geweigerd risico achterstand uitval gezakt verdacht wanbetal sterf overleden onterecht
        fehler abgelehnt ablehn betrug risik ausfall ruckfall durchgefallen verzug schlecht
        erreur refus rejet risque defaut echec echou impay mauvais
        =errores rechaz deneg riesgo impago fracas suspens reincid moros malo abandon
        """,
    "better": """
        =pass =passed =promoted =promotion grant hire hired repaid repay income approv admit accept success salary
        =wage =wages graduat complet =good award =duly survived =paid
        geslaagd toegekend toegewezen goedgekeurd aangenomen inkomen loon betaald terugbetaald bevorderd goed
        bestanden bewilligt genehmigt eingestellt einkommen gehalt bezahlt zuruckgezahlt befordert zugelassen gut
        admis accord embauch revenu salaire rembours promu reussi bon
        aprobad concedid admitid contratad ingreso salario pagad reembols ascendid acept exito bueno
        """,
    "yes": """
        =yes =y =true =t =1 =ja =j =oui =o =si =s =wahr =waar =vrai =verdadero =positive =positief =positiv =high =hoog
        =hoch =haut =alto
        """,
}

GROUPS_OF_PEOPLE = (
    frozenset({"male", "female", "man", "woman", "vrouw", "mannen", "vrouwen", "mann", "frau",
               "mannlich", "weiblich", "manner", "frauen", "homme", "femme", "hommes", "femmes", "hombre", "mujer",
               "hombres", "mujeres", "men", "women", "divers", "non_binary", "masculino", "femenino", "masculin",
               "feminin", "mannelijk", "vrouwelijk"}),
    frozenset({"white", "black", "asian", "hispanic", "hisp", "caucasian", "african_american", "native_american",
               "non_white", "latino", "other", "black_or_african_american", "pacific_islander", "a_black", "b_white"}),
)  # fmt: skip
"""Values of which two or more, and no others, say the sex or the race of people; single letters may be anything."""

UNKNOWN = frozenset(
    {"unknown", "not_available", "n_a", "na", "not_known", "not_applicable", "missing", "onbekend", "niet_beschikbaar",
     "unbekannt", "keine_angabe", "inconnu", "non_renseigne", "desconocido", "no_disponible"}
)  # fmt: skip
"""Values that say that there is none."""
_LESS = (
    "<=?|≤|(?:less|fewer|younger) than|under|below|up to|at most|"
    "(?:minder|jonger) dan|onder|t/m|tot(?: en met)?|hoogstens"
)
_MORE = ">=?|≥|(?:more|greater|older) than|over|above|from|at least|(?:meer|ouder) dan|boven|vanaf|minstens"
_CLASS = re.compile(rf"\s*(?:(?P<less>{_LESS})|(?P<more>{_MORE}))?\s*(?P<number>[0-9]{{1,15}})", re.IGNORECASE)


@lru_cache(maxsize=10_000)
def class_order(text: str) -> tuple[float, str]:
    """Sort key of a text: a class of numbers by its first one, between what is less and what is more; then all others.

    Examples
    --------
    >>> sorted(["over 40", "18-25", "unknown", "9-17", "<9", "26 - 40"], key=class_order)
    ['<9', '9-17', '18-25', '26 - 40', 'over 40', 'unknown']
    >>> sorted(["Greater than 45", "25 - 45", "Less than 25"], key=class_order)
    ['Less than 25', '25 - 45', 'Greater than 45']
    """
    match = _CLASS.match(text)
    if match is None:
        return math.inf, text
    return int(match["number"]) + 0.5 * bool(match["more"]) - 0.5 * bool(match["less"]), text


def are_classes(levels: Sequence[object]) -> bool:
    """Whether levels are classes of numbers, such as ages, so that they have an order; numbers alone may be codes.

    Examples
    --------
    >>> are_classes(["18-25", "26+", "unknown"]), are_classes(["1", "2"]), are_classes(["18-25", "retired"])
    (True, False, False)
    """
    texts = [one for one in levels if isinstance(one, str) and plain(one) not in UNKNOWN]
    known = [one for one in levels if one is not None]
    is_text = len(texts) > 1 and all(isinstance(one, str) for one in known)
    return is_text and all(map(_CLASS.match, texts)) and not all(one.strip().isdigit() for one in texts)


@lru_cache(maxsize=10_000)
def plain(name: str) -> str:
    """A name in small letters without accents, its words joined by ``_``.

    Examples
    --------
    >>> plain("Outcome house-visit"), plain("creditScore"), plain("Männlich"), plain("#URLs"), plain("SEX")
    ('outcome_house_visit', 'credit_score', 'mannlich', 'urls', 'sex')
    """
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z][a-z])", "_", name)
    bare = "".join(one for one in unicodedata.normalize("NFKD", apart) if not unicodedata.combining(one))
    return re.sub(r"[^a-z0-9]+", "_", bare.casefold()).strip("_")


def speaks_of(name: str, topic: Topic) -> bool:
    """Whether a name has a word of a topic.

    Examples
    --------
    >>> speaks_of("Geslacht", "protected"), speaks_of("Sussex", "protected"), speaks_of("high-risk", "prediction")
    (True, False, True)
    """
    return _pattern(topic).search(plain(name)) is not None


def is_called(name: str, topic: Topic) -> bool:
    """Whether a name has words of a topic and no others.

    Examples
    --------
    >>> is_called("class-label", "outcome alone"), is_called("outcome of appeal", "outcome alone")
    (True, False)
    """
    words = plain(name).split("_")
    return plain(name) != "" and all(speaks_of(one, topic) for one in words)


def are_groups_of_people(values: list[str]) -> bool:
    """Whether values say the sex or the race of people.

    Examples
    --------
    >>> are_groups_of_people(["Mannen", "Vrouwen"]), are_groups_of_people(["f", "g"])
    (True, False)
    """
    words = {plain(one) for one in values}
    return any(len(words & known) >= 2 and words <= known | UNKNOWN for known in GROUPS_OF_PEOPLE)


@cache
def _pattern(topic: Topic) -> re.Pattern[str]:
    alternatives = []
    for word in _WORDS[topic].split():
        match word[0]:
            case "=":
                alternatives.append(rf"(?:^|_){word[1:]}(?:_|$)")
            case "~":
                alternatives.append(word[1:])
            case _:
                alternatives.append(rf"(?:^|_){word}")
    return re.compile("|".join(alternatives))
