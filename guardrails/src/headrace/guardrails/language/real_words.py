"""Real English words that are one slip from an ordinary word of a request, so never corrected.

Made once from a dictionary: every word that `spelling.corrected` would otherwise change.
"""

_WORDS = """
aboriginal aboriginals actuality afterward afterword afterwords ailed alder aldo alpo alsop alter alto anythings
aprils apter arch augusta augusts avery backus bailed bandwidths baring batching beeping bend bering bight bling
boring brig brine brings brink briny britten bugger camped cancels cancer canopying caped carped caster catcalled
catching catchings cause caused cello certification certified certifying chan chanced chancel channelled chanted
chapped charged checkouts chow clanged clapped cline clones clove codified cody coexisting cold compacted compelled
competed complected completer completes completest complexes complying comported composted concealed concluding cone
cope coped copier coping copping cops corning cory cosy cove cozy crapped criminals crone cunning cupped dafter
dairy daisy dally deadlines deadliness decembers declination decryption defeating defecting deflating deflecting
deification dejecting delegating delimited delinting deliverer delivers delivery deplete depleting desalination
deserting designation desisting destinations destitution detecting detesting detonation digger displayed displays
distinction doily dopy dourly dove downgraded drily dunning duplicator duplicity edification eery elder emery
emissions encrusted encrusting encrypts enlisting estimation etch ethan evert ewer excepts excerpt exchanged
excluded exiting expiating exploding extruding fabled factually falter fasted fasten fatter fend fester fetich fewer
fifes fight filet filets fills films fines finis finnish fireplace fires fist fitch fives fixes flailed flies fodder
foiled folded fonder formal foster frog fromm gaily giles gist gunning hailed hanged hank hanks hatching headline
headlined headlines hell hellos hells hewer highs hove hugh ignored incest inclining inclosing included infest info
ingests intro intruding invest jailed jello jigger jove keeling keening ketch khan knight knightly lager lapped
larch larder largess latching lease leavening lend lest licit light lightly lilt lint lisa lisp lists liszt lone
lost loved loving lust mach mailed mapped marc marching marci marco marcy marsh master maximums meekly mend might
miles mince mirrors misplay mist moaning modifier modifiers modifies mole mollified mooed mooing mooning mope moped
moping mortified mote mourning movie mowed mowing nailed napped newel nigger nonmember norma norman noshing notching
nothings noting novembers octobers odder oder oily olden order originates orly otto overdrive overprice overpricing
overprinting overrating parcelled parch parse parsed passed patching pease peeping pelleting pend petrified
petrifying piles pinto pleased pleases preserver preservers preserves presume prom punning purification purifying
queues rafter railed rapped raster reallocate recopying relenting relocates remissions remote remover removes rend
replaces repleting replicates replicator rerunning reserve resisting restarting resumed resumes retch revenging
revery rightly riles ring rove roved roving ruining sailed sand sapped sash scow scream seeping selecting sends
septembers sewer shank shanks shaw shod shoe shoo shop shot shown shows showy sigh sight sine singe sipping skid
skim skimp skimping skin skippering skips skis skit slash slip slipping smart smarting smash snatching snip snipping
snow sourced sources sourly spend staph star starching stare staring stark starling starlings starr starring stars
startling starving starvings stat states stating stats statue statues steam stippling stow streak streams stripping
stuart sundae sundas sundry sunning supplicate swash synched synchronizes tailed tank tanks tapped tart taster tend
terrified terrifying thad thai thar thatching thaw thigh thin thinks throttles thunk thunks tight tightly tiles
toady toddy tokay tomorrows tonto tran transferals transforming transforms transverse triplicate uncompleted
unmodified unoriginal unsightly untie unwritten upstarting vaster vend verifies verily verity versification
versified versifies versify versifying vetch vilification vilifying vince virginals vivifying wailed waster watching
weakly weekended weeping wend wight wiles wince wist world woulds wound wove wring yapped yesterdays zapped
"""

REAL_WORDS: frozenset[str] = frozenset(_WORDS.split())
